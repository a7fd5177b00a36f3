"""AlterConfigs: replaces all configs of topics, groups and brokers; configs that are not named are reset.

Unlike Kafka: configs of listeners are refused, since they are read when the broker starts. Configs that Octavo does not
know, such as num.io.threads, are kept and listed without their values, and have no effect.
"""

from __future__ import annotations

from octavo.broker.apis.configs.alterable import Alterable, Changes
from octavo.broker.apis.configs.changed_configs import change
from octavo.broker.context import Context
from octavo.broker.request import Answer, Request
from octavo.format.messages.schema import Row


def handle(request: Request, context: Context) -> Answer:
    return change(request, context, _changes)


def _changes(resource: Alterable, configs: list[Row]) -> Changes:
    return {**dict.fromkeys(resource.own), **{config["name"]: config["value"] for config in configs}}
