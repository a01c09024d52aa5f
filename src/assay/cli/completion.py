"""`assay completion`: a script with which a shell completes subcommands, flags, their choices and catalog names.

The script holds every word itself, so that the Tab key starts no Python; a newer assay needs a newer script.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field

from assay.runs.exit_status import DONE
from assay.text.wording import shortened

SHELLS = ("bash", "zsh", "fish")

WITHOUT_FILES = ("list", "lock", "recipe")
"""Verbs whose words are names, though their parsers do not list them."""
LONGEST_MEANING = 60
"""Characters: a list of choices is read at a glance."""
EPILOG = """\
examples:
  echo 'source <(assay completion bash)' >> ~/.bashrc
  echo 'source <(assay completion zsh)' >> ~/.zshrc
  assay completion fish > ~/.config/fish/completions/assay.fish
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubcommandWords:
    """What can follow a subcommand."""

    subcommand: str
    summary: str
    words: tuple[str, ...] = ()
    takes_files: bool = True
    """In addition to those words."""
    flags: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Each with its help, and whether a value follows."""
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What can follow a flag, where that is known."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=SHELLS, metavar="bash|zsh|fish")


def run(options: argparse.Namespace) -> int:
    subcommands = all_words()
    print({"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[options.shell](subcommands), end="")
    return DONE


def all_words() -> list[SubcommandWords]:
    """Every subcommand, read off its own parser."""
    import importlib

    from assay import catalog
    from assay.cli.main import SUBCOMMANDS, module_of
    from assay.recipes.recipe import NAMES
    from assay.tasks.load import BUILT_IN

    named = {"--model": catalog.names("model"), "--executor": ["local", *catalog.names("executor")]}
    named["--sandbox"] = catalog.names("sandbox")
    besides = {
        "list": [*catalog.CATALOG, *BUILT_IN],
        "show": [*BUILT_IN, *(name for kind in catalog.CATALOG for name in catalog.names(kind))],
        "recipe": list(NAMES),
        "run": list(BUILT_IN),
    }
    found = []
    for subcommand, summary in SUBCOMMANDS.items():
        parser = argparse.ArgumentParser(prog=subcommand)
        importlib.import_module(f"assay.cli.{module_of(subcommand)}").add_arguments(parser)
        found.append(words_of(subcommand, summary, parser, besides.get(subcommand, []), named))
    return found


def words_of(
    subcommand: str, summary: str, parser: argparse.ArgumentParser, besides: list[str], named: dict[str, list[str]]
) -> SubcommandWords:
    flags: dict[str, tuple[str, bool]] = {}
    choices: dict[str, tuple[str, ...]] = {}
    words, takes_files = list(besides), False
    for action in parser._actions:
        known = [str(choice) for choice in action.choices or ()]
        if not action.option_strings:
            words += known
            takes_files = takes_files or (not known and subcommand not in WITHOUT_FILES)
        for flag in action.option_strings:
            if not flag.startswith("--"):
                continue
            flags[flag] = (shortened(_one_line(action.help), LONGEST_MEANING), action.nargs != 0)
            if words_of_flag := known or named.get(flag):
                choices[flag] = _plain_words(words_of_flag)
    return SubcommandWords(
        subcommand=subcommand,
        summary=_one_line(summary),
        words=_plain_words(words),
        takes_files=takes_files,
        flags=flags,
        choices=choices,
    )


def bash_script(subcommands: list[SubcommandWords]) -> str:
    cases = []
    for subcommand in subcommands:
        values = "".join(
            f"        {flag}) words='{' '.join(choices)}' ;;\n" for flag, choices in subcommand.choices.items()
        )
        cases.append(
            f"    {subcommand.subcommand})\n"
            f"      case $prev in\n{values}{_files_after(subcommand, 'files=1')}"
            f"        *) if [[ $cur == -* ]]; then words='{' '.join(subcommand.flags)}'; "
            f"else words='{' '.join(subcommand.words)}' files={int(subcommand.takes_files)}; fi ;;\n"
            f"      esac ;;\n"
        )
    return (
        "# assay: completion for bash; source it, or run `assay completion bash` again after an upgrade\n"
        "_assay() {\n"
        '  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words="" files=0\n'
        "  # --flag=value arrives in three words\n"
        '  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n'
        "  if (( COMP_CWORD == 1 )); then\n"
        f"    words='{' '.join(command.subcommand for command in subcommands)} --help --version'\n"
        "  else\n"
        "    case ${COMP_WORDS[1]} in\n" + "".join(cases) + "    esac\n"
        "  fi\n"
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))\n'
        "  if (( files )); then\n"
        "    compopt -o filenames 2>/dev/null\n"
        "    local IFS=$'\\n'\n"
        '    COMPREPLY+=($(compgen -f -- "$cur"))\n'
        "  fi\n"
        "}\n"
        "complete -F _assay assay\n"
    )


def zsh_script(subcommands: list[SubcommandWords]) -> str:
    cases = []
    for subcommand in subcommands:
        values = "".join(
            f"        {flag}) compadd -- {' '.join(choices)} ;;\n" for flag, choices in subcommand.choices.items()
        )
        flags = " ".join(f"'{flag}:{meaning}'" for flag, (meaning, _) in subcommand.flags.items())
        words = f"compadd -- {' '.join(subcommand.words)}; " if subcommand.words else ""
        cases.append(
            f"    {subcommand.subcommand})\n"
            f"      case $prev in\n{values}{_files_after(subcommand, '_files')}"
            f"        *) if [[ $PREFIX == -* ]]; then flags=({flags}); _describe -o flag flags; "
            f"else {words}{'_files' if subcommand.takes_files else ':'}; fi ;;\n"
            f"      esac ;;\n"
        )
    summaries = " ".join(f"'{each.subcommand}:{each.summary}'" for each in subcommands)
    return (
        "# assay: completion for zsh; source it, or run `assay completion zsh` again after an upgrade\n"
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }\n"
        "_assay() {\n"
        "  local -a subcommands flags\n"
        "  local prev=$words[CURRENT-1]\n"
        "  if [[ $words[CURRENT] == --*=* ]]; then prev=${words[CURRENT]%%=*}; compset -P '*='; fi\n"
        "  if (( CURRENT == 2 )); then\n"
        f"    subcommands=({summaries})\n"
        "    _describe subcommand subcommands\n"
        "    return\n"
        "  fi\n"
        "  case $words[2] in\n" + "".join(cases) + "  esac\n"
        "}\n"
        "compdef _assay assay\n"
    )


def _files_after(each: SubcommandWords, act: str) -> str:
    """The case of flags that take a value of which nothing is known: it may be a file."""
    flags = [flag for flag, (_, takes_value) in each.flags.items() if takes_value and flag not in each.choices]
    return f"        {'|'.join(flags)}) {act} ;;\n" if flags else ""


def fish_script(subcommands: list[SubcommandWords]) -> str:
    lines = [
        "# assay: completion for fish; write it again after an upgrade",
        "function __assay_subcommand",
        "    set -l given (commandline -opc)",
        '    test (count $given) -gt 1; and test "$given[2]" = $argv[1]',
        "end",
    ]
    for subcommand in subcommands:
        lines.append(
            f"complete -c assay -n __fish_use_subcommand -f -a {subcommand.subcommand} -d '{subcommand.summary}'"
        )
    for command in subcommands:
        here = f"complete -c assay -n '__assay_subcommand {command.subcommand}'"
        if not command.takes_files:
            lines.append(f"{here} -f")
        if command.words:
            lines.append(f"{here} -a '{' '.join(command.words)}'")
        for flag, (meaning, takes_value) in command.flags.items():
            known = command.choices.get(flag, ())
            value = f" -x -a '{' '.join(known)}'" if known else " -r -F" if takes_value else ""
            lines.append(f"{here} -l {flag[2:]}{value} -d '{meaning}'")
    return "\n".join(lines) + "\n"


def _one_line(text: str | None) -> str:
    """A meaning between single quotes: nothing in it can end them."""
    flat = " ".join((text or "").replace("%%", "%").split())
    return re.sub(r"['\\]", "", flat)


def _plain_words(words: list[str]) -> tuple[str, ...]:
    """Those that a shell takes for what they are; packages can publish names of their own."""
    return tuple(dict.fromkeys(word for word in words if re.fullmatch(r"[\w.:@/+-]+", word, re.ASCII)))
