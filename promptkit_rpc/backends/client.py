"""A backend whose model is the connected client's own. Knows nothing of how the client is asked."""

from promptkit_rpc.backends.unicode import well_formed
from promptkit_rpc.definitions.settings import BackendSettings
from promptkit_rpc.errors import GenerationFailed, Origin, Reason
from promptkit_rpc.generation import Answer, Call, CallFailed
from promptkit_rpc.services import Services


class ClientBackend:
    """Passes each call on to the client."""

    def __init__(self, settings: BackendSettings, services: Services) -> None:
        self._name = settings.name
        self._ask = services.client_generate

    async def generate(self, call: Call) -> Answer:
        """What the client's model answers.

        Raises:
            CallFailed: the client gave no answer, or none is connected.
        """
        if self._ask is None:
            raise CallFailed(self._alone())
        try:
            answer = await self._ask(self._name, call)
        except GenerationFailed as error:
            raise CallFailed(error) from error.__cause__
        content = well_formed(answer.content)
        if content is answer.content:
            return answer
        return Answer(
            content=content,
            finish_reason=answer.finish_reason,
            refusal=answer.refusal,
            usage=answer.usage,
        )

    async def close(self) -> None:
        """The connection is the client's."""

    def _alone(self) -> GenerationFailed:
        return GenerationFailed(
            f"backend {self._name!r} asks the connected client to generate, and none is connected",
            reason=Reason.CONNECTION,
            origin=Origin.PROMPTKIT,
            retryable=False,
            billed=False,
        )
