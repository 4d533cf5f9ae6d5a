"""What all connections of a server share."""

from uvicorn.server import ServerState


class ServingState(ServerState):
    """uvicorn's state and whether the server is on its way out: then each answer asks the client to connect elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.draining = False
