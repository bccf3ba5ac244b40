"""Who can reach us, and what they must show: settled before the port opens."""

import ipaddress
import ssl
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from server.config import Config, ConfigError, Token

_TOKEN: TypeAdapter[Token] = TypeAdapter(Token)


def with_files(settings: Config) -> Config:
    """The settings, with the tokens that lie in files."""
    found: dict[str, object] = {}
    if file := settings.operator_token_file:
        if settings.operator_token:
            raise ConfigError("set operator_token or operator_token_file, not both")
        tokens = _tokens("operator_token_file", file)
        if len(tokens) != 1:
            raise ConfigError(f"operator_token_file: {file} should hold one token")
        found["operator_token"] = tokens[0]
    if file := settings.talker_token_file:
        found["talker_tokens"] = [*settings.talker_tokens, *_tokens("talker_token_file", file)]
    return settings.model_copy(update=found)


def checked(settings: Config) -> Config:
    """The same settings, unless with them anybody at all could come in, or nobody."""
    token = settings.operator_token.get_secret_value() if settings.operator_token else None
    if settings.exposed and not (token or settings.talkers or settings.insecure):
        where = settings.host if not settings.on_loopback else "a proxy"
        raise ConfigError(
            f"others can reach the server through {where}: set talker_token (ATTUNE_TALKER_TOKEN), "
            "16 characters or more, which they have to show, or let in everybody with --insecure"
        )
    if token in settings.talkers:
        raise ConfigError("operator_token is one of the talkers' too: whoever talks could use it")
    for proxy in settings.forwarded_allow_ips:
        _check_proxy(proxy)
    _check_certificate(settings)
    return settings


def _tokens(name: str, file: Path) -> list[Token]:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"{name}: {file} cannot be read: {why}") from None
    written = [line.strip() for line in lines if line.strip()]
    if not written:
        raise ConfigError(f"{name}: {file} is empty")
    try:
        return [_TOKEN.validate_python(line) for line in written]
    except ValidationError:
        raise ConfigError(f"{name}: a token in {file} has less than 16 characters") from None


def _check_proxy(given: str) -> None:
    """Uvicorn takes what it does not understand for the name of a socket, in silence."""
    try:
        ipaddress.ip_network(given)
    except ValueError:
        raise ConfigError(
            f"forwarded_allow_ips: {given!r} is no address or network, as 10.0.0.0/8"
        ) from None


def _check_certificate(settings: Config) -> None:
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise ConfigError("tls_cert and tls_key belong together: set both")
    if settings.tls_cert is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            settings.tls_cert,
            settings.tls_key,
            password=lambda: "",  # else a locked key would ask at the terminal
        )
    except (OSError, ssl.SSLError) as error:
        why = error.strerror if isinstance(error, FileNotFoundError) else "no such pair in PEM"
        raise ConfigError(f"tls_cert, tls_key: they cannot be used: {why}") from None
