"""A lane's credentials, taken out of its addresses and fields as the plan is read: in memory alone, never written."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pydantic import SecretStr

from replayer.errors import PlanError
from replayer.wire.credentials import is_secret_field, split_login
from replayer.wire.types import Json, JsonObject

Secrets = dict[str, SecretStr | None]
"""By where they stood: `url`, `urls/0`, `extra/api_key`, `command/3`. None: one stood there, and the run folder does not have it."""

NOT_KEPT = "[not kept]"
"""Stands in a request that is built anew without its secret."""
_FIELDS = ("extra", "sampling", "options")
_ENV = "env:"


def taken_out(values: JsonObject) -> JsonObject:
    """The values of a lane with its credentials under `secrets` alone. Raises ValueError for a URL with a query."""
    values = dict(values)
    secrets = dict(values.get("secrets") or {})
    if isinstance(values.get("url"), str):
        values["url"] = _address(values["url"], "url", secrets)
    if isinstance(values.get("urls"), list | tuple):
        values["urls"] = [
            _address(url, f"urls/{n}", secrets) if isinstance(url, str) else url
            for n, url in enumerate(values["urls"])
        ]
    if isinstance(values.get("command"), list | tuple):
        values["command"] = _words(values["command"], secrets)
    for part in _FIELDS:
        if isinstance(values.get(part), dict):
            values[part] = _clean(values[part], part, secrets)
    return values | {"secrets": secrets} if secrets else values


def _words(command: Sequence[object], secrets: JsonObject) -> list[Json]:
    """A start command with a mark for each credential: `--api-key PW`, `--api-key=PW`, `HF_TOKEN=PW`, a login in a URL."""
    kept: list[Json] = []
    for number, word in enumerate(command):
        if not isinstance(word, str) or word.startswith(_ENV):
            kept.append(word)
            continue
        secret = _secret_in(word, str(command[number - 1]) if number else "")
        if secret and NOT_KEPT not in word:
            secrets[f"command/{number}"] = secret
        kept.append(word.replace(secret, NOT_KEPT, 1) if secret else word)
    return kept


def _secret_in(word: str, before: str) -> str | None:
    name, _, value = word.partition("=")
    if is_secret_field(name.lstrip("-")) and value:
        return value
    if before.startswith("-") and is_secret_field(before.lstrip("-")) and not word.startswith("-"):
        return word
    return split_login(word)[1]


def _address(url: str, place: str, secrets: JsonObject) -> str:
    address, login = split_login(url)
    if "?" in address or "#" in address:
        shown = address.partition("?")[0].partition("#")[0]
        raise ValueError(
            f"the URL {shown!r} must end with its path, without ? or #; give a key with api_key_env=VARIABLE"
        )
    if login is not None:
        secrets[place] = login
    return address


def _clean(fields: JsonObject, path: str, secrets: JsonObject) -> JsonObject:
    kept = {}
    for name, value in fields.items():
        place = f"{path}/{name}"
        if isinstance(value, str) and value and is_secret_field(name.rpartition(".")[2]):
            secrets[place] = value
        else:
            kept[name] = _clean(value, place, secrets) if isinstance(value, dict) else value
    return kept


def put_back(fields: JsonObject, part: str, secrets: Secrets) -> JsonObject:
    """The fields as they are sent."""
    whole = fields
    for place, secret in secrets.items():
        first, *path = place.split("/")
        if first == part and path:
            whole = _with(whole, path, secret.get_secret_value() if secret else NOT_KEPT)
    return whole


def _with(fields: JsonObject, path: list[str], value: str) -> JsonObject:
    name, *rest = path
    return {**fields, name: _with(fields.get(name, {}), rest, value) if rest else value}


def started(command: Sequence[str], secrets: Secrets) -> list[str]:
    """The start command as it is run."""
    words = [_from_environment(word) if word.startswith(_ENV) else word for word in command]
    for place, secret in secrets.items():
        part, _, number = place.partition("/")
        if part == "command" and secret is not None:
            words[int(number)] = words[int(number)].replace(NOT_KEPT, secret.get_secret_value(), 1)
    return words


def _from_environment(word: str) -> str:
    name = word.removeprefix(_ENV)
    if name not in os.environ:
        raise PlanError(f"the variable {name} that a lane's command names is not set")
    return os.environ[name]


def shown(secrets: Secrets, *, reveal: bool) -> dict[str, str | None]:
    """For JSON: where they stood; what they are only for the process that runs the plan."""
    return {
        place: secret.get_secret_value() if reveal and secret else None for place, secret in secrets.items()
    }
