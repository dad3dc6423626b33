"""Definitions as they are listed and inspected: as authored, and without any secret."""

from promptkit_rpc.definitions.problem import Problem
from promptkit_rpc.definitions.prompt import PromptDefinition, VariableDefinition
from promptkit_rpc.definitions.settings import BackendSettings, ProfileSettings
from promptkit_rpc.rpc.convert.values import (
    contract_to,
    json_to,
    location_to,
    milliseconds,
    parameters_to,
)
from promptkit_rpc.rpc.protocol import engine, resources
from promptkit_rpc.secret import shown_url


def problem_to(problem: Problem) -> engine.Problem:
    """A fault in a file."""
    return engine.Problem(
        message=problem.message, location=location_to(problem.location), code=problem.code
    )


def prompt_item(prompt: PromptDefinition) -> resources.PromptItem:
    """A prompt in a list."""
    return resources.PromptItem(
        name=prompt.id,
        description=prompt.description,
        profile=prompt.profile,
        location=location_to(prompt.location),
    )


def profile_item(profile: ProfileSettings) -> resources.ProfileItem:
    """A profile in a list."""
    return resources.ProfileItem(
        name=profile.name,
        description=profile.description,
        backend=profile.backend,
        model=profile.model,
    )


def backend_item(backend: BackendSettings) -> resources.BackendItem:
    """A backend in a list."""
    return resources.BackendItem(
        name=backend.name, description=backend.description, kind=backend.kind
    )


def prompt_inspection(prompt: PromptDefinition) -> resources.PromptInspection:
    """A prompt with its templates as authored."""
    return resources.PromptInspection(
        prompt_id=prompt.id,
        description=prompt.description,
        location=location_to(prompt.location),
        profile=prompt.profile,
        session=None if prompt.session is None else prompt.session.source,
        inputs=tuple(
            [
                resources.InputInspection(name=one.name, file=one.file.source)
                for one in prompt.inputs
            ]
        ),
        variables=tuple([_variable(variable) for variable in prompt.variables]),
        messages=tuple(
            [
                resources.MessageInspection(
                    role=one.role, content=one.content.source, cache=json_to(one.cache)
                )
                for one in prompt.messages
            ]
        ),
        output=contract_to(prompt.output),
    )


def _variable(variable: VariableDefinition) -> resources.VariableInspection:
    return resources.VariableInspection(
        name=variable.name,
        schema=variable.schema.value(),
        required=variable.default is None,
        default=json_to(variable.default),
    )


def profile_inspection(profile: ProfileSettings) -> resources.ProfileInspection:
    """A profile."""
    return resources.ProfileInspection(
        profile=profile.name,
        description=profile.description,
        location=location_to(profile.location),
        backend=profile.backend,
        model=profile.model,
        parameters=parameters_to(profile.parameters),
    )


def backend_inspection(backend: BackendSettings) -> resources.BackendInspection:
    """A backend; of keys and headers only where their values come from."""
    timeouts, retry, source = backend.timeouts, backend.retry, backend.credential
    return resources.BackendInspection(
        backend=backend.name,
        description=backend.description,
        location=location_to(backend.location),
        kind=backend.kind,
        base_url=None if backend.base_url is None else shown_url(backend.base_url),
        credential_source=None if source is None else str(source),
        capacity=backend.capacity,
        permits=backend.permits,
        queue=backend.queue,
        timeouts=resources.TimeoutsInspection(
            connect_ms=_limit(timeouts.connect),
            read_ms=_limit(timeouts.read),
            total_ms=_limit(timeouts.total),
        ),
        retry=resources.RetryInspection(
            attempts=retry.attempts,
            base_delay_ms=milliseconds(retry.base_delay),
            max_delay_ms=milliseconds(retry.max_delay),
        ),
        headers=tuple(
            [
                resources.HeaderInspection(name=name, env=value.env)
                for name, value in backend.headers
            ]
        ),
        structured=backend.structured,
        max_tokens_field=backend.max_tokens_field,
    )


def _limit(seconds: float | None) -> int | None:
    return None if seconds is None else milliseconds(seconds)
