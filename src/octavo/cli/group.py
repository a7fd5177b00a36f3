"""The click group of `octavo`: lists commands from the table, and imports only the one that runs."""

from __future__ import annotations

from importlib import import_module
from typing import cast

import click
from click.shell_completion import CompletionItem, shell_complete

from octavo import __version__
from octavo.cli.command_table import COMMANDS
from octavo.cli.options import debug_option
from octavo.cli.settings import COMPLETION_VARIABLE, Settings, UsageError
from octavo.errors import OctavoError, did_you_mean, suggestion


class LazyGroup(click.Group):
    """Click's group for `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = COMMANDS.get(cmd_name)
        if row is None:
            return None
        # A verbatim command runs without click, which knows it only for shell completion.
        module = row.module if not row.verbatim else row.completion if ctx.resilient_parsing else None
        if module is None:
            return None
        command = cast("click.Command", import_module(module).command)
        if ctx.resilient_parsing:
            from octavo.cli.completing import with_completions

            return with_completions(command)
        command.epilog = _examples(cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """List commands from the table, because click would import each to get its help; then options."""
        names = [
            CompletionItem(name, help=row.summary) for name, row in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in COMMANDS.items()])


def _examples(name: str) -> str:
    """The end of a command's help; click keeps the lines after \\b as they are."""
    from octavo.cli.examples import EXAMPLES

    return "\n".join(("\b", "Examples:", *(f"  {example}" for example in EXAMPLES.get(name, ()))))


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from octavo.kernels import COMPILED

        form = "compiled" if COMPILED else "plain-Python"
        click.echo(f"octavo {__version__} ({form} kernels)")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
    help="Show the version and whether the kernels are compiled.",
)  # fmt: skip
@debug_option
def octavo() -> None:
    """Apache Kafka's log directories: read, check, explain, write.

    Results go to stdout, everything else to stderr. Exit code 0: success; 1: problems found, or the work failed; 2:
    wrong usage.
    """


def complete(instruction: str) -> int:
    """Answer a shell that asks for completions, or for its completion script (`bash_complete`, `bash_source`)."""
    return shell_complete(octavo, {}, "octavo", COMPLETION_VARIABLE, instruction)


def run_group(arguments: list[str], settings: Settings) -> int:
    """Run the group with these arguments; click's exceptions become an exit code or errors that `main` reports."""
    try:
        with octavo.make_context("octavo", arguments, obj=settings) as context:
            return octavo.invoke(context) or 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:  # what a prompt raises at Ctrl-C, and at the end of its input
        raise KeyboardInterrupt from None
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "octavo"
        raise UsageError(f"{_problem(error)}; see `{path} --help`") from error
    except click.ClickException as error:
        raise OctavoError(error.format_message()) from error


def _problem(error: click.UsageError) -> str:
    """What click says about the command line, with a hint if a command or an option is misspelt."""
    if command := getattr(error, "command_name", None):
        from octavo.cli.examples import HINTS

        if command in HINTS:
            return f"{error.message.rstrip('.')}; try `octavo {HINTS[command]}`"
        return error.message.rstrip(".") + did_you_mean(command, COMMANDS)
    if near := getattr(error, "possibilities", None) or _long_form(error):
        return error.message.rstrip(".") + suggestion(near[:1])
    sentence = " ".join(error.format_message().split()).rstrip(".")  # click lists choices on lines of their own
    return sentence.replace("is not a valid integer range", "is not a whole number")


def _long_form(error: click.UsageError) -> list[str]:
    """The command's options that other tools abbreviate like this unknown one."""
    from octavo.cli.examples import LETTERS

    meant = LETTERS.get(getattr(error, "option_name", ""), ())
    there = {name for option in error.ctx.command.params for name in option.opts} if error.ctx else set()
    return [name for name in meant if name in there]
