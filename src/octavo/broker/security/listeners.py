"""Listeners: where the broker listens, under which security protocol, with which configs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from ipaddress import ip_address
from typing import NamedTuple

from octavo.broker.security.sasl import MECHANISMS, PLAIN
from octavo.config.broker import BrokerTable
from octavo.config.kinds import Given, as_text
from octavo.config.resolved import BrokerConfig
from octavo.config.table import BROKER_CONFIGS, OF_LISTENER
from octavo.errors import ConfigError, did_you_mean

_ADDRESS = re.compile(r"(?:(?P<name>[A-Za-z0-9_-]+)://)?(?P<host>\[[^\]]*\]|[^:\[\]/]*):(?P<port>\d{1,5})")
_JAAS = re.compile(r"(?P<name>[a-z0-9-]+)\.sasl\.jaas\.config")
_PASSWORD = re.compile(r"""\buser_([^\s=]+)\s*=\s*("((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;]+))""")
_OF_ONE = frozenset(name for name in BROKER_CONFIGS if name.startswith(("ssl.", "sasl.")))


class Endpoint(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Protocol(Enum):
    """How a listener's connections are secured: with TLS, with SASL, with both or with neither."""

    PLAINTEXT = False, False
    SSL = True, False
    SASL_PLAINTEXT = False, True
    SASL_SSL = True, True

    @property
    def has_tls(self) -> bool:
        return self.value[0]

    @property
    def has_sasl(self) -> bool:
        return self.value[1]


class Listener(NamedTuple):
    """One address to listen on. `config` has the listener's own ssl.* and sasl.* configs over the broker's."""

    name: str
    protocol: Protocol
    address: Endpoint
    advertised: Endpoint | None
    config: BrokerTable
    passwords: Mapping[str, str]  # of PLAIN's users

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return self.config.sasl_enabled_mechanisms if self.protocol.has_sasl else ()

    @property
    def is_authenticated(self) -> bool:
        """Whether nobody can connect without a password or a certificate."""
        return self.protocol.has_sasl or (self.protocol.has_tls and self.config.ssl_client_auth == "required")


def listeners_of(
    given: Sequence[str] | None, advertised: Sequence[str] | None, properties: Mapping[str, Given]
) -> list[Listener]:
    """The listeners given by a caller, or else by the configs; raises ConfigError or ValueError if one is invalid."""
    config = BrokerConfig.of(properties)
    protocols = _protocols(config.listener_security_protocol_map)
    public = {
        name.upper(): address
        for name, address in _distinct("advertised listeners", advertised, config.advertised_listeners or ())
    }
    made = []
    for name, address in _distinct("listeners", given, config.listeners):
        if name.upper() not in protocols:
            known = ", ".join(protocols)
            raise ConfigError(f"listener {name} is not in listener.security.protocol.map, which has {known}")
        own = _own_configs(name, properties)
        configured = BrokerConfig.of({**properties, **own}) if own else config
        seen_at = public.pop(name.upper(), None)
        found = Listener(name, protocols[name.upper()], address, seen_at, configured, _passwords(name, properties))
        if found.protocol.has_sasl:
            _check_mechanisms(found)
        made.append(found)
    if public:
        raise ConfigError(f"advertised.listeners names {', '.join(public)}, but listeners does not")
    return made


def _distinct(what: str, given: Sequence[str] | None, configured: Sequence[str]) -> list[tuple[str, Endpoint]]:
    """The names and addresses that were given, or else configured; as in Kafka, no name may occur twice."""
    parsed = [parse_listener(text) for text in (configured if given is None else given)]
    homes: dict[str, Endpoint] = {}
    for name, address in parsed:
        if (other := homes.setdefault(name.upper(), address)) is not address:
            problem = f"two {what} are called {name.upper()}: {other} and {address}"
            example = "NAME://host:port, with NAME and its protocol in listener.security.protocol.map"
            raise ConfigError(f"{problem}; give each a name of its own ({example})")
    return parsed


def parse_listener(text: str) -> tuple[str, Endpoint]:
    """Parse `[NAME://]host:port` or `[NAME://][ipv6]:port`; port 0 means any free port, an empty host every IPv4
    address."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None or int(found["port"]) > 65535:
        raise ValueError(f"address {text!r} is not [PROTOCOL://]host:port with a port of at most 65535")
    host = found["host"].removeprefix("[").removesuffix("]") or "0.0.0.0"
    return found["name"] or Protocol.PLAINTEXT.name, Endpoint(host, int(found["port"]))


def _protocols(text: str) -> dict[str, Protocol]:
    pairs = [pair.strip().partition(":") for pair in text.split(",") if pair.strip()]
    for name, _, protocol in pairs:
        if protocol.strip() not in Protocol.__members__:
            raise ConfigError(f"listener.security.protocol.map gives {name} the protocol {protocol!r}, expected one of "
                              f"{', '.join(Protocol.__members__)}")  # fmt: skip
    return {name.strip().upper(): Protocol[protocol.strip()] for name, _, protocol in pairs}


def _own_configs(listener: str, properties: Mapping[str, Given]) -> dict[str, Given]:
    """The ssl.* and sasl.* configs prefixed with `listener.name.<listener>.`, without that prefix."""
    prefix = f"{OF_LISTENER}{listener.lower()}."
    own = {name.removeprefix(prefix): value for name, value in properties.items() if name.startswith(prefix)}
    for name in own:
        if name not in _OF_ONE and _JAAS.fullmatch(name) is None:
            problem = f"{prefix}{name} is not supported{did_you_mean(name, _OF_ONE)}"
            allowed = "only the ssl.* and sasl.* configs that `octavo config` lists"
            raise ConfigError(f"{problem}: {allowed} can be set per listener")
    return {name: value for name, value in own.items() if name in _OF_ONE}


def _passwords(listener: str, properties: Mapping[str, Given]) -> dict[str, str]:
    """PLAIN's users and passwords in the listener's JAAS config: user_alice="secret"."""
    jaas = properties.get(f"{OF_LISTENER}{listener.lower()}.{PLAIN.lower()}.sasl.jaas.config", "")
    users = {}
    for match in _PASSWORD.finditer(as_text(jaas)):
        quoted = match[3] if match[3] is not None else match[4]
        users[match[1]] = match[5] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return users


def _check_mechanisms(listener: Listener) -> None:
    unknown = [name for name in listener.mechanisms if name not in MECHANISMS]
    if unknown or not listener.mechanisms:
        problem = f"listener {listener.name} uses SASL with {', '.join(unknown) or 'no mechanism'}"
        raise ConfigError(f"{problem}: set sasl.enabled.mechanisms to some of {', '.join(MECHANISMS)}")
    if PLAIN in listener.mechanisms and not listener.passwords:
        where = f"{OF_LISTENER}{listener.name.lower()}.plain.sasl.jaas.config"
        raise ConfigError(f'listener {listener.name} uses PLAIN without users: give them in {where} (user_alice="…")')


def check_exposure(listeners: Iterable[Listener], metrics: Endpoint | None) -> None:
    """Refuse addresses that anybody on another machine can use."""
    remedy = "allow it with allow_remote=True (`--insecure`)"
    for listener in listeners:
        if not listener.address.is_local and not listener.is_authenticated:
            problem = f"{listener.address} can be reached from other machines without a login"
            raise ValueError(f"{problem}: use a SASL listener or client certificates, or {remedy}")
    if metrics is not None and not metrics.is_local:
        raise ValueError(f"the metrics on {metrics} can be read from other machines without a login: {remedy}")
