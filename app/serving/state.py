"""What all connections of a server share."""

from uvicorn.server import ServerState

from app.serving.exchange import Heads


class ServingState(ServerState):
    """uvicorn's state, whether the server is on its way out (then each answer asks the client to connect elsewhere), and what answers have
    alike."""

    def __init__(self) -> None:
        super().__init__()
        self.draining = False
        self.heads = Heads()
