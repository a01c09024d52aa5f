"""`assay completion`: a script that lets a shell complete verbs, flags, their choices and the names of the catalog.

The script holds every word itself, so that the Tab key starts no Python; a newer assay needs a newer script.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field

SHELLS = ("bash", "zsh", "fish")

EPILOG = """\
examples:
  echo 'source <(assay completion bash)' >> ~/.bashrc
  echo 'source <(assay completion zsh)' >> ~/.zshrc
  assay completion fish > ~/.config/fish/completions/assay.fish
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbWords:
    """What can stand after a verb."""

    verb: str
    summary: str
    words: tuple[str, ...] = ()
    """Besides files."""
    flags: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Each with its help, and whether a value follows."""
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What can follow a flag, where that is known."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("shell", choices=SHELLS, metavar="bash|zsh|fish")


def run(options: argparse.Namespace) -> int:
    from assay.runs.exit_status import DONE

    verbs = all_words()
    print({"bash": bash_script, "zsh": zsh_script, "fish": fish_script}[options.shell](verbs), end="")
    return DONE


def all_words() -> list[VerbWords]:
    """Every verb, read off its own parser."""
    import importlib

    from assay import catalog
    from assay.cli.main import VERBS, module_of
    from assay.recipes.recipe import NAMES
    from assay.tasks.load import BUILT_IN

    models = catalog.names("model")
    besides = {
        "list": [*catalog.CATALOG, *BUILT_IN],
        "show": [*BUILT_IN, *(name for kind in catalog.CATALOG for name in catalog.names(kind))],
        "recipe": list(NAMES),
        "run": list(BUILT_IN),
    }
    found = []
    for verb, summary in VERBS.items():
        parser = argparse.ArgumentParser(prog=verb)
        importlib.import_module(f"assay.cli.{module_of(verb)}").add_arguments(parser)
        found.append(words_of(verb, summary, parser, besides.get(verb, []), models))
    return found


def words_of(
    verb: str, summary: str, parser: argparse.ArgumentParser, besides: list[str], models: list[str]
) -> VerbWords:
    flags: dict[str, tuple[str, bool]] = {}
    choices: dict[str, tuple[str, ...]] = {}
    words = list(besides)
    for action in parser._actions:
        known = [str(each) for each in action.choices or ()]
        if not action.option_strings:
            words += known
        for flag in action.option_strings:
            if not flag.startswith("--"):
                continue
            flags[flag] = (_one_line(action.help), action.nargs != 0)
            if known or flag == "--model":
                choices[flag] = _plain_words(known or models)
    return VerbWords(verb=verb, summary=_one_line(summary), words=_plain_words(words), flags=flags, choices=choices)


def bash_script(verbs: list[VerbWords]) -> str:
    cases = []
    for each in verbs:
        values = "".join(f"        {flag}) words='{' '.join(choices)}' ;;\n" for flag, choices in each.choices.items())
        cases.append(
            f"    {each.verb})\n"
            f"      case $prev in\n{values}"
            f"        *) [[ $cur == -* ]] && words='{' '.join(each.flags)}' || words='{' '.join(each.words)}' ;;\n"
            f"      esac ;;\n"
        )
    return (
        "# assay: completion for bash; source it, or run `assay completion bash` again after an upgrade\n"
        "_assay() {\n"
        '  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=""\n'
        "  if (( COMP_CWORD == 1 )); then\n"
        f"    words='{' '.join(each.verb for each in verbs)} --help --version'\n"
        "  else\n"
        "    case ${COMP_WORDS[1]} in\n" + "".join(cases) + "    esac\n"
        "  fi\n"
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))\n'
        "}\n"
        "complete -o default -o bashdefault -F _assay assay\n"
    )


def zsh_script(verbs: list[VerbWords]) -> str:
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(verbs)


def fish_script(verbs: list[VerbWords]) -> str:
    lines = ["# assay: completion for fish; write it anew after an upgrade"]
    for each in verbs:
        lines.append(f"complete -c assay -n __fish_use_subcommand -f -a {each.verb} -d '{each.summary}'")
    for each in verbs:
        here = f"complete -c assay -n '__fish_seen_subcommand_from {each.verb}'"
        if each.words:
            lines.append(f"{here} -a '{' '.join(each.words)}'")
        for flag, (meaning, takes_value) in each.flags.items():
            known = each.choices.get(flag, ())
            value = f" -x -a '{' '.join(known)}'" if known else " -r" if takes_value else ""
            lines.append(f"{here} -l {flag[2:]}{value} -d '{meaning}'")
    return "\n".join(lines) + "\n"


def _one_line(text: str | None) -> str:
    """A meaning between single quotes: nothing in it can end them."""
    flat = " ".join((text or "").replace("%%", "%").split())
    return re.sub(r"['\\]", "", flat)


def _plain_words(words: list[str]) -> tuple[str, ...]:
    """Those that a shell takes for what they are; packages can publish names of their own."""
    return tuple(dict.fromkeys(word for word in words if re.fullmatch(r"[\w.:@/+-]+", word, re.ASCII)))
