"""The name of a writer: a batch that is run again under the same name and number is committed only once."""

from __future__ import annotations

import json
import uuid

from octavo.errors import ConfigError
from octavo.scanner.places.location import locate
from octavo.spark.sink.options import SinkOptions

_METADATA = "metadata"


def stream_name(options: SinkOptions) -> str:
    """The name of a streaming query: txnAppId, or the id that Spark keeps in the query's checkpoint.

    Spark gives a Python sink nothing but its options. If the checkpoint is deleted, batches are numbered from 0 again
    under a new id; under the same txnAppId they would be taken for batches that were already committed.
    """
    if options.app_id is not None:
        return options.app_id
    if options.checkpoint is None:
        raise ConfigError(
            "the streaming sink needs option 'checkpointLocation' on the writer, or 'txnAppId': one of them names the"
            " query, so that its batches are committed once"
        )
    checkpoint = locate(options.checkpoint)
    try:
        query_id = json.loads(checkpoint.child(_METADATA).read())["id"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{checkpoint}: no query id was found in its file {_METADATA} ({error}); name the query with the option"
            " 'txnAppId'"
        ) from None
    return str(query_id)


def batch_name(options: SinkOptions) -> str:
    """The name of a batch write: txnAppId, or a random name."""
    return options.app_id or uuid.uuid4().hex
