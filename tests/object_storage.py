"""A real S3 server on a port of this machine, for the tests of remote runs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

import pytest
import s3fs
from moto.server import ThreadedMotoServer


@contextmanager
def s3_server() -> Iterator[str]:
    """The URL of an empty bucket; the environment says how it is reached, as in real life."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
            patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
            patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
            # Instances are remembered with the address they were made for.
            s3fs.S3FileSystem.clear_instance_cache()
            bucket = f"recordings-{token_hex(4)}"  # one process keeps the buckets of all servers
            s3fs.S3FileSystem().mkdir(bucket)
            yield f"s3://{bucket}"
            s3fs.S3FileSystem.clear_instance_cache()
    finally:
        server.stop()
