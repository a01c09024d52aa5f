"""The system call filter: an allow-list in raw BPF, built here and installed in every child.

Numbers are written as `name x86_64/aarch64`, `-` where a call does not exist. A call in ALLOWED is allowed; one in
REFUSED fails with EPERM, so that a legitimate program sees PermissionError and continues; one in DEADLY, which no
legitimate program makes, kills the process, and the harness reports a violation; any other call fails with ENOSYS, so
that libc falls back.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence

from . import kernel

EPERM = 1
EINVAL = 22
ENOTTY = 25
ENOSYS = 38
ALLOW = 0x7FFF0000
KILL_PROCESS = 0x80000000

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000

PID_HERE = 0x7EED1E57
"""A placeholder in the program for the child's own pid; patched after the fork."""

ALLOWED = """
read 0/63 write 1/64 close 3/57 stat 4/- fstat 5/80 lstat 6/- poll 7/- lseek 8/62 mmap 9/222 mprotect 10/226
munmap 11/215 brk 12/214 rt_sigaction 13/134 rt_sigprocmask 14/135 rt_sigreturn 15/139 pread64 17/67 readv 19/65
writev 20/66 access 21/- pipe 22/- select 23/- sched_yield 24/124 mremap 25/216 dup 32/23 dup2 33/-
pause 34/- nanosleep 35/101 getitimer 36/102 alarm 37/- setitimer 38/103 getpid 39/172 recvfrom 45/207 shutdown 48/210
getsockname 51/204 exit 60/93 wait4 61/260 uname 63/160 fsync 74/82 fdatasync 75/83 getcwd 79/17 chdir 80/49
fchdir 81/50 readlink 89/- umask 95/166 gettimeofday 96/169 getrlimit 97/163 getrusage 98/165 sysinfo 99/179
times 100/153 getuid 102/174 getgid 104/176 geteuid 107/175 getegid 108/177 getppid 110/173 getpgrp 111/-
getgroups 115/158 getresuid 118/148 getresgid 120/150 getpgid 121/155 getsid 124/156 capget 125/90 rt_sigpending 127/136
rt_sigtimedwait 128/137 rt_sigsuspend 130/133 sigaltstack 131/132 statfs 137/43 fstatfs 138/44 getpriority 140/141
sched_getparam 143/121 sched_getscheduler 145/120 sched_get_priority_max 146/125 sched_get_priority_min 147/126
setrlimit 160/164 gettid 186/178 time 201/- futex 202/98 sched_getaffinity 204/123 getdents64 217/61
set_tid_address 218/96 restart_syscall 219/128 timer_create 222/107 timer_settime 223/110 timer_gettime 224/108
timer_getoverrun 225/109 timer_delete 226/111 clock_getres 229/114 clock_nanosleep 230/115
exit_group 231/94 epoll_wait 232/- epoll_ctl 233/21 waitid 247/95 newfstatat 262/79 readlinkat 267/78 faccessat 269/48
pselect6 270/72 ppoll 271/73 set_robust_list 273/99 epoll_pwait 281/22 timerfd_create 283/85 timerfd_settime 286/86
timerfd_gettime 287/87 eventfd 284/- eventfd2 290/19 epoll_create1 291/20 dup3 292/24 pipe2 293/59 preadv 295/69
getrandom 318/278 membarrier 324/283 statx 332/291 rseq 334/293 close_range 436/436 faccessat2 439/439
epoll_pwait2 441/441 futex_waitv 449/449
"""

REFUSED = """
pwrite64 18/68 mincore 27/232 shmget 29/194 shmat 30/196 shmctl 31/195 sendfile 40/71 socket 41/198 connect 42/203
accept 43/202 sendmsg 46/211 recvmsg 47/212 bind 49/200 listen 50/201 getpeername 52/205 setsockopt 54/208 fork 57/-
vfork 58/- execve 59/221 semget 64/190 semop 65/193 semctl 66/191 shmdt 67/197 msgget 68/186 msgsnd 69/189
msgrcv 70/188 msgctl 71/187 flock 73/32 truncate 76/45 ftruncate 77/46 getdents 78/- rename 82/- mkdir 83/- rmdir 84/-
creat 85/- link 86/- unlink 87/- symlink 88/- chmod 90/- fchmod 91/52 chown 92/- fchown 93/55 lchown 94/-
syslog 103/116 setuid 105/146 setgid 106/144 setpgid 109/154 setsid 112/157 setreuid 113/145 setregid 114/143
setgroups 116/159 setresuid 117/147 setresgid 119/149 setfsuid 122/151 setfsgid 123/152 capset 126/91
rt_sigqueueinfo 129/138 utime 132/- mknod 133/- personality 135/92 setpriority 141/140 sched_setparam 142/118
sched_setscheduler 144/119 sched_rr_get_interval 148/127 mlock 149/228 munlock 150/229 mlockall 151/230
munlockall 152/231 sync 162/81 setxattr 188/5 lsetxattr 189/6 fsetxattr 190/7 getxattr 191/8 lgetxattr 192/9
fgetxattr 193/10 listxattr 194/11 llistxattr 195/12 flistxattr 196/13 removexattr 197/14 lremovexattr 198/15
fremovexattr 199/16 tkill 200/130 sched_setaffinity 203/122 semtimedop 220/192 utimes 235/- mq_open 240/180
mq_unlink 241/181 mq_timedsend 242/182 mq_timedreceive 243/183 mq_notify 244/184 mq_getsetattr 245/185
ioprio_set 251/30 inotify_init 253/- inotify_add_watch 254/27 mkdirat 258/34 mknodat 259/33 fchownat 260/54
futimesat 261/- unlinkat 263/35 renameat 264/38 linkat 265/37 symlinkat 266/36 fchmodat 268/53 splice 275/76 tee 276/77
vmsplice 278/75 utimensat 280/88 signalfd 282/- fallocate 285/47 accept4 288/242 signalfd4 289/74 inotify_init1 294/26
pwritev 296/70 rt_tgsigqueueinfo 297/240 recvmmsg 299/243 fanotify_init 300/262 sendmmsg 307/269 renameat2 316/276
seccomp 317/277 memfd_create 319/279 execveat 322/281 mlock2 325/284 copy_file_range 326/285 fchmodat2 452/452
"""

DEADLY = """
ptrace 101/117 pivot_root 155/41 chroot 161/51 mount 165/40 umount2 166/39 add_key 248/217 request_key 249/218
keyctl 250/219 unshare 272/97 perf_event_open 298/241 setns 308/268 process_vm_readv 310/270 process_vm_writev 311/271
bpf 321/280 userfaultfd 323/282 pidfd_send_signal 424/424 io_uring_setup 425/425 io_uring_enter 426/426
io_uring_register 427/427 pidfd_open 434/434 pidfd_getfd 438/438
"""

CONDITIONAL = """
open 2/- ioctl 16/29 madvise 28/233 sendto 44/206 socketpair 53/199 getsockopt 55/209 clone 56/220 kill 62/129
fcntl 72/25 prctl 157/167 clock_gettime 228/113 tgkill 234/131 openat 257/56 prlimit64 302/261
"""

CLONE_THREAD = 0x00010000
CLONE_NAMESPACES = 0x7E020080
CLONE_FORBIDDEN = CLONE_NAMESPACES | 0x80F000
"""Every namespace flag, PARENT, VFORK, PTRACE, UNTRACED and PIDFD: a thread needs none of them."""
ADVICE = (0, 1, 2, 3, 4, 8, 14, 15, 16, 17)
"""What libc and Python advise about their own memory. Merging pages with those of other processes, or pushing pages
out, would make a side channel."""
CLOCK_OF_A_PROCESS = 0x80000000
"""Set in the ids of the CPU clocks of processes and threads, others included; one's own have plain numbers too."""
OPEN_TO_WRITE = 0x3 | 0x40 | 0x200 | 0x400 | 0x400000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND and the bit that makes O_TMPFILE."""

Instruction = tuple[int, int, int, int]
Block = list[Instruction]


def build(machine: str, opens: str) -> bytes:
    """The filter for one machine. `opens` is `any` (Landlock decides), `read` (no flags for writing) or `none`."""
    leaves: dict[int, Block] = {}
    leaves.update(dict.fromkeys(_numbers(ALLOWED, machine).values(), _answer(ALLOW)))
    leaves.update(dict.fromkeys(_numbers(REFUSED, machine).values(), _answer(_errno(EPERM))))
    leaves.update(dict.fromkeys(_numbers(DEADLY, machine).values(), _answer(KILL_PROCESS)))
    conditions = _conditions(opens)
    for name, number in _numbers(CONDITIONAL, machine).items():
        leaves[number] = conditions[name]
    program = [(0x20, 0, 0, 4), (0x15, 1, 0, AUDIT_ARCH[machine]), *_answer(KILL_PROCESS), (0x20, 0, 0, 0)]
    if machine == "x86_64":
        program += [(0x35, 0, 1, X32_BIT), *_answer(KILL_PROCESS)]
    program += _search(_ranges(leaves))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def install(program: bytes, own_pid: int | None = None) -> None:
    """Install the filter on this process permanently; needs no_new_privs or CAP_SYS_ADMIN."""
    if own_pid is not None:
        program = _patch(program, own_pid)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(16)
    struct.pack_into("<HxxxxxxQ", header, 0, len(program) // 8, ctypes.addressof(buffer))
    try:
        kernel.syscall("seccomp", kernel.number_of("seccomp"), 1, 0, ctypes.byref(header))
    except OSError as error:
        if error.errno != ENOSYS:
            raise
        kernel.prctl("prctl(SET_SECCOMP)", kernel.PR_SET_SECCOMP, 2, ctypes.addressof(header))


def refuse_calls(machine: str, names: Mapping[str, int]) -> bytes:
    """A filter that fails the named calls with an errno and allows the rest: tests simulate a limited host with it."""
    table = {**_young_numbers(), **_numbers(ALLOWED + REFUSED + DEADLY + CONDITIONAL, machine)}
    leaves = {table[name]: _answer(_errno(errno)) for name, errno in names.items() if name in table}
    namespaces = _test_bits(0, CLONE_NAMESPACES & ~0x80, _answer(_errno(EPERM)), _answer(ALLOW))
    if "unshare" in names:
        leaves[table["clone"]] = namespaces
    program = [(0x20, 0, 0, 0), *_search(_ranges(leaves, default=ALLOW))]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def _young_numbers() -> dict[str, int]:
    return {
        "clone3": 435,
        "mount_setattr": kernel.MOUNT_SETATTR,
        "landlock_create_ruleset": kernel.LANDLOCK_CREATE_RULESET,
        "landlock_add_rule": kernel.LANDLOCK_ADD_RULE,
        "landlock_restrict_self": kernel.LANDLOCK_RESTRICT_SELF,
    }


def _patch(program: bytes, own_pid: int) -> bytes:
    """Replace the placeholder by the pid; only whole instruction operands are compared."""
    patched = bytearray(program)
    for at in range(4, len(patched), 8):
        if patched[at : at + 4] == _PLACEHOLDER:
            struct.pack_into("<I", patched, at, own_pid)
    return bytes(patched)


_PLACEHOLDER = struct.pack("<I", PID_HERE)


def _numbers(table: str, machine: str) -> dict[str, int]:
    words = table.split()
    column = 0 if machine == "x86_64" else 1
    pairs = zip(words[::2], words[1::2], strict=True)
    chosen = ((name, numbers.split("/")[column]) for name, numbers in pairs)
    return {name: int(number) for name, number in chosen if number != "-"}


def _conditions(opens: str) -> dict[str, Block]:
    refuse = _answer(_errno(EPERM))
    allow = _answer(ALLOW)
    return {
        "open": _open_rule(opens, flags=1),
        "openat": _open_rule(opens, flags=2),
        "clone": _test_bits(0, CLONE_THREAD, _test_bits(0, CLONE_FORBIDDEN, refuse, allow), refuse),
        "madvise": _one_of(2, ADVICE, _answer(_errno(EINVAL))),  # as from a kernel that does not know it: libc copes
        "clock_gettime": _test_bits(0, CLOCK_OF_A_PROCESS, refuse, allow),
        "kill": _one_of(0, [PID_HERE], refuse),
        "tgkill": _one_of(0, [PID_HERE], refuse),
        "prlimit64": _one_of(0, [0, PID_HERE], refuse),
        "socketpair": _one_of(0, [1], refuse),  # AF_UNIX, which asyncio wakes itself with
        "sendto": _is_null(4, refuse),
        "getsockopt": _one_of(1, [1], refuse, then=_one_of(2, [3, 4, 38, 39], refuse)),
        "ioctl": _one_of(1, [0x5451, 0x5450, 0x5421, 0x541B, 0x5401, 0x5413], _answer(_errno(ENOTTY))),
        "fcntl": _one_of(1, [0, 1030, 1, 2, 3, 4], refuse),  # F_SETOWN with F_SETSIG could kill a neighbour
        "prctl": _one_of(0, [15, 16, 0x53564D41], refuse),  # SET_NAME, GET_NAME, SET_VMA
    }


def _open_rule(opens: str, flags: int) -> Block:
    """`flags` is the position of the argument with the flags."""
    refuse, allow = _answer(_errno(EPERM)), _answer(ALLOW)
    if opens == "any":
        return allow
    return refuse if opens == "none" else _test_bits(flags, OPEN_TO_WRITE, refuse, allow)


def _answer(value: int) -> Block:
    return [(0x06, 0, 0, value)]


def _errno(number: int) -> int:
    return 0x00050000 | number


def _load(argument: int, high: bool = False) -> Instruction:
    return (0x20, 0, 0, 16 + 8 * argument + (4 if high else 0))


def _test_bits(argument: int, bits: int, if_any: Block, if_none: Block) -> Block:
    return [_load(argument), (0x45, 0, len(if_any), bits), *if_any, *if_none]


def _one_of(argument: int, values: Sequence[int], otherwise: Block, then: Block | None = None) -> Block:
    then = then or _answer(ALLOW)
    tests = [(0x15, len(values) - 1 - at + len(otherwise), 0, value) for at, value in enumerate(values)]
    return [_load(argument), *tests, *otherwise, *then]


def _is_null(argument: int, otherwise: Block) -> Block:
    """Whether both halves of a pointer are zero: a filter sees 32 bits at a time."""
    size = len(otherwise)
    return [
        _load(argument),
        (0x15, 0, 2, 0),
        _load(argument, high=True),
        (0x15, size, 0, 0),
        *otherwise,
        *_answer(ALLOW),
    ]


def _ranges(leaves: Mapping[int, Block], default: int | None = None) -> list[tuple[int, Block]]:
    """Adjacent numbers with the same answer as one range (first number, block), with the gaps filled in."""
    gap = _answer(_errno(ENOSYS) if default is None else default)
    ranges: list[tuple[int, Block]] = []

    def put(first: int, block: Block) -> None:
        if not ranges or ranges[-1][1] != block:
            ranges.append((first, block))

    following = 0
    for number in sorted(leaves):
        if number > following:
            put(following, gap)
        put(number, leaves[number])
        following = number + 1
    put(following, gap)
    return ranges


def _search(ranges: Sequence[tuple[int, Block]]) -> Block:
    """A binary search over the ranges; a jump longer than 255 instructions takes a second step."""
    if len(ranges) == 1:
        return list(ranges[0][1])
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    first = ranges[middle][0]
    if len(below) <= 255:
        return [(0x35, len(below), 0, first), *below, *above]
    return [(0x35, 0, 1, first), (0x05, 0, 0, len(below)), *below, *above]
