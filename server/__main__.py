"""python -m server: conversations and the HTTP API on one port, without the pages."""

import logging

import typer
from fastapi import FastAPI

from models.protocols import Models
from server import app
from server.company import Company
from server.config import Config
from server.launch import (
    Clock,
    ConfigFile,
    Host,
    Insecure,
    Port,
    Processes,
    Profile,
    Seats,
    TlsCert,
    TlsKey,
    launch,
)

log = logging.getLogger("attune")


class Bare:
    """The server with its plain page."""

    def prepared(self, settings: Config) -> Config:
        return settings

    def build(self, models: Models, settings: Config, company: Company) -> FastAPI:
        return app.create(models, settings, company=company)

    def opened(self, url: str) -> None:
        log.info("Attune listens on %s", url)


def main(
    config_file: ConfigFile = None,
    host: Host = None,
    port: Port = None,
    models: Profile = None,
    clock: Clock = None,
    seats: Seats = None,
    processes: Processes = None,
    insecure: Insecure = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
) -> None:
    """Serve conversations on one port."""
    flags = {
        "host": host,
        "port": port,
        "profile": models,
        "clock": clock,
        "seats": seats,
        "processes": processes,
        "insecure": insecure,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
    }
    launch(Bare(), config_file, flags)


if __name__ == "__main__":
    typer.run(main)
