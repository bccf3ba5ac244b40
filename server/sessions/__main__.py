"""python -m server.sessions: look at recorded sessions, export, delete, repair and replay them."""

from pathlib import Path
from typing import Annotated

import typer

from server import config
from server.sessions.commands.handing_on import export, replay
from server.sessions.commands.keeping import delete, rebuild, repair, verify
from server.sessions.commands.looking import list_sessions, play, show
from server.sessions.commands.opened import complain

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def main(
    context: typer.Context,
    runs: Annotated[
        str | None, typer.Option(help="Folder or URL of the sessions; else as the server has it.")
    ] = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", help="A TOML file; attune.toml is read by itself.")
    ] = None,
) -> None:
    """Look at recorded sessions; export, delete, repair and replay them."""
    try:
        settings = config.read(config_file).recording
    except config.ConfigError as error:
        complain(error)
        raise typer.Exit(2) from None
    context.obj = settings.model_copy(update={"runs": runs}) if runs else settings


app.command("list")(list_sessions)
for command in (show, play, export, delete, repair, verify, replay, rebuild):
    app.command()(command)

if __name__ == "__main__":
    app()
