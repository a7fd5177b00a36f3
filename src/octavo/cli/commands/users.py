"""`octavo users`: the users who log in to `octavo broker` with SCRAM."""

from __future__ import annotations

import sys

import click

from octavo.broker.security.scram import MAX_ITERATIONS, MIN_ITERATIONS, ScramCredential, ScramMechanism
from octavo.broker.security.store import SecurityStore, UserCredentials
from octavo.cli.options import command as declare
from octavo.cli.options import echo, json_option, logdirs_argument, print_json
from octavo.cli.owner import Ownership, owned
from octavo.errors import OctavoError


@declare("users")
@logdirs_argument
@click.option(
    "--add", metavar="USER", help="Add a user, or change a user's password; it is read from the terminal or stdin."
)
@click.option("--delete", "deleted", metavar="USER", help="Remove a user.")
@click.option(
    "--iterations", type=click.IntRange(MIN_ITERATIONS, MAX_ITERATIONS), default=MIN_ITERATIONS, show_default=True,
    metavar="N", help="How many times the password is hashed.",
)  # fmt: skip
@json_option
def command(logdirs: tuple[str, ...], add: str | None, deleted: str | None, iterations: int, as_json: bool) -> None:
    """List the users who log in with SCRAM, add one, or remove one, while no broker runs.

    A user who is added can log in with SCRAM-SHA-256 and with SCRAM-SHA-512; --add creates a missing LOGDIR. While
    `octavo broker` runs, use Kafka's kafka-configs instead.
    """
    if add is not None and deleted is not None:
        raise click.UsageError("give --add or --delete, not both")
    password = _password(add) if add is not None else ""

    def change(users: UserCredentials) -> None:
        for mechanism in ScramMechanism:
            if add is not None:
                users[mechanism][add] = ScramCredential.of_password(mechanism, password, iterations)
            elif deleted is not None:
                users[mechanism].pop(deleted, None)

    with owned(logdirs, Ownership(only=[], create=add is not None)) as logs:
        store = logs.shared(SecurityStore)
        known = {name for mechanism in ScramMechanism for name in store.scram(mechanism)}
        if deleted is not None and deleted not in known:
            others = f"; the users are: {', '.join(sorted(known))}" if known else "; there are no users"
            raise OctavoError(f"there is no user {deleted!r}{others}")
        if add is not None or deleted is not None:
            store.change_users(change)
    if add is None and deleted is None:
        if not known:
            echo("octavo: there are no users; --add USER adds one", err=True)
        for name in sorted(known):
            mechanisms = {kind.mechanism_name: store.scram(kind).get(name) for kind in ScramMechanism}
            found = {kind: credential.iterations for kind, credential in mechanisms.items() if credential is not None}
            if as_json:
                print_json({"user": name, "mechanisms": found})
            else:
                echo(f"{name}: {', '.join(found)}")


def _password(user: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"Password of {user}", hide_input=True, confirmation_prompt=True, err=True))
    password = sys.stdin.readline().rstrip("\n")
    if not password:
        raise click.UsageError("the password is empty: give it on stdin, as one line")
    return password
