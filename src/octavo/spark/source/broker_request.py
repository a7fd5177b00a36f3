"""One request to a Kafka broker, over a connection of its own: PLAINTEXT, blocking, with timeouts."""

from __future__ import annotations

import socket

from octavo.errors import CorruptionError, OctavoError
from octavo.format.messages.codec import encode
from octavo.format.messages.schema import Row
from octavo.format.protocol.apis import Api
from octavo.format.protocol.frames import read_response, request_frame
from octavo.spark.query.values import Address

_CLIENT_ID = "octavo-spark"
_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 30.0
_LENGTH_BYTES, _CHUNK_BYTES = 4, 1 << 16
_MOST_BYTES = 64 << 20  # the first bytes of TLS or HTTP, taken as a length, are far above this
_PLAINTEXT_ONLY = "commitServers needs a PLAINTEXT listener of a Kafka broker, without TLS and without a login"


class PassingError(OctavoError):
    """A problem that may be over soon, so that it is worth trying again."""


def ask(server: Address, api: Api, version: int, body: Row) -> Row:
    """The answer to a request; raises PassingError if nobody answers, OctavoError if the answer is not Kafka's."""
    request = request_frame(api, version, encode(api.request, version, body), correlation_id=0, client_id=_CLIENT_ID)
    try:
        with socket.create_connection(server, _CONNECT_SECONDS) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            connection.sendall(request)
            size = int.from_bytes(_exactly(connection, _LENGTH_BYTES))
            if size > _MOST_BYTES:
                raise CorruptionError(f"an answer of {size} bytes")
            return read_response(api, version, _exactly(connection, size))[1]
    except (ConnectionResetError, BrokenPipeError, EOFError):
        raise PassingError(f"{server} closed the connection. {_PLAINTEXT_ONLY}") from None
    except CorruptionError as error:
        raise OctavoError(f"{server} does not answer as Kafka does: {error}. {_PLAINTEXT_ONLY}") from None
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that no host can have
        raise PassingError(f"{server}: {getattr(error, 'strerror', None) or error}") from None


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(min(size - len(data), _CHUNK_BYTES))
        if not more:
            raise EOFError
        data += more
    return bytes(data)
