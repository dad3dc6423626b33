"""One run: admission, attempts, transient retries, validation, repair, and its one terminal event.

A run is completed the moment its last answer has been read to the end and either meets its
contract or has no repair left. Nothing is awaited after that but the verdict, so no cancel and no
deadline can lose it.
"""

import asyncio
from collections.abc import Awaitable, Callable

from promptkit_rpc.cancellation import CancelSignal
from promptkit_rpc.conversation.exchange import Exchange
from promptkit_rpc.conversation.history import History
from promptkit_rpc.conversation.message import Message, Role
from promptkit_rpc.errors import (
    Cancelled,
    ConfigInvalid,
    DeadlineExceeded,
    GenerationFailed,
    Kind,
    Origin,
    PromptKitError,
    Reason,
)
from promptkit_rpc.execution import retry
from promptkit_rpc.execution.observe import (
    Admitted,
    AttemptFinished,
    AttemptStarted,
    ErrorNote,
    Event,
    RepairStarted,
    RetryScheduled,
    RunFinished,
    RunOutcome,
    RunStarted,
    compose,
)
from promptkit_rpc.execution.prepare import Plan
from promptkit_rpc.execution.request import RunResult
from promptkit_rpc.generation import Answer, Call, CallFailed
from promptkit_rpc.output import repair
from promptkit_rpc.output.contract import Format, Status, Validation
from promptkit_rpc.output.validate import validate
from promptkit_rpc.secret import Secret
from promptkit_rpc.services import Services
from promptkit_rpc.usage import UNKNOWN, TokenCounts, Usage

_NOT_REQUIRED = Validation(status=Status.NOT_REQUIRED)

ResolveCredential = Callable[[Plan, CancelSignal], Awaitable[Secret | None]]


async def execute(
    plan: Plan, services: Services, signal: CancelSignal, resolve: ResolveCredential
) -> RunResult:
    """Runs a plan to its result. Observers hear of it in order, and of its end before this returns.

    Raises:
        Cancelled: the signal's own error object; no answer was complete.
        DeadlineExceeded: the run's time limit passed first.
        GenerationFailed: no attempt gave an answer.
        PromptKitError: admission or the credential failed.
    """
    with plan.provider, signal.child() as own:
        run = _Run(plan, services, own, resolve)
        timer = None
        if plan.timeout is not None:
            run.deadline = services.monotonic() + plan.timeout
            timer = services.later(plan.timeout, lambda: own.cancel(run.overdue()))
        try:
            return await run.complete()
        finally:
            if timer is not None:
                timer.cancel()


class _Run:
    """The state of one run between its first and its last event."""

    def __init__(
        self, plan: Plan, services: Services, signal: CancelSignal, resolve: ResolveCredential
    ) -> None:
        self.plan = plan
        self.services = services
        self.signal = signal
        self.resolve = resolve
        self.run_id = services.run_id()
        self.deadline: float | None = None
        self._observe = compose(*plan.observers)
        self._delivering = bool(plan.observers)
        self._attempts = 0
        self._repairs = 0
        self._usage = Usage()
        self._heard = UNKNOWN
        self._credential: Secret | None = None

    async def complete(self) -> RunResult:
        plan = self.plan
        try:
            self._emit(
                lambda time: RunStarted(
                    run_id=self.run_id,
                    time=time,
                    prompt_id=plan.prompt_id,
                    profile=plan.profile,
                    backend=plan.backend,
                    model=plan.model,
                    parent_run_id=plan.parent_run_id,
                )
            )
            answer, validation = await self._admitted()
        except BaseException as error:
            self._failed(error)
            raise
        self._finish(RunOutcome.COMPLETED, validation=validation.status)
        return self._result(answer, validation)

    async def _admitted(self) -> tuple[Answer, Validation]:
        if self.plan.credential is not None:
            self._credential = self.plan.credential
        else:
            with self.signal.scope():
                self._credential = await self.resolve(self.plan, self.signal)
        leases = self.plan.provider.admission.leases
        asked = self.services.monotonic()
        await leases.acquire(self.signal)
        try:
            waited = self.services.monotonic() - asked
            self._emit(lambda time: Admitted(run_id=self.run_id, time=time, waited=waited))
            return await self._answer()
        finally:
            leases.release()

    async def _answer(self) -> tuple[Answer, Validation]:
        contract, history = self.plan.contract, self.plan.history
        repairs = 0
        while True:
            answer = await self._generate(history, repairs)
            if contract.format is Format.TEXT:
                return answer, _NOT_REQUIRED
            validation = await validate(
                contract, answer.content, answer.finish_reason.value, answer.refusal
            )
            again = repairs < contract.repairs and repair.may_repair(
                validation, answer.finish_reason.value, answer.refusal
            )
            if not again:
                return answer, validation
            # A backend may answer without ever waiting: others, and a cancel, get their turn here.
            await asyncio.sleep(0)
            self.signal.check()
            repairs += 1
            self._repairing(len(validation.violations))
            history = self.plan.history.extended(
                *repair.repair_messages(contract, answer.content, validation)
            )

    def _repairing(self, violations: int) -> None:
        self._emit(lambda time: RepairStarted(run_id=self.run_id, time=time, violations=violations))

    async def _generate(self, history: History, repairs: int) -> Answer:
        """One answer, over as many attempts as the retry policy allows for it."""
        made = 0
        while True:
            made += 1
            try:
                return await self._attempt(history, repairs)
            except CallFailed as failed:
                policy = self.plan.provider.settings.retry
                delay = retry.delay(policy, made, failed.error, self.services.random)
                if delay is None:
                    raise retry.explained(policy, made, failed.error) from failed.__cause__
                await self._back_off(delay, failed.error)

    async def _back_off(self, delay: float, failure: GenerationFailed) -> None:
        if self.deadline is not None and self.services.monotonic() + delay >= self.deadline:
            raise self.overdue() from failure
        self._emit(
            lambda time: RetryScheduled(
                run_id=self.run_id, time=time, delay=delay, reason=failure.reason
            )
        )
        with self.signal.scope():
            await self.services.sleep(delay)

    async def _attempt(self, history: History, repairs: int) -> Answer:
        permits = self.plan.provider.admission.permits
        await permits.acquire(self.signal)
        try:
            self._attempts += 1
            self._repairs = repairs  # counted like retries: when they are made
            attempt = self._attempts
            self._emit(lambda time: AttemptStarted(run_id=self.run_id, time=time, attempt=attempt))
            try:
                answer = await self._called(self._call(history, attempt))
            except CallFailed as failed:
                self._attempted(attempt, failed.usage, billed=failed.error.billed, error=failed)
                raise
            except BaseException as error:
                unsent = isinstance(error, ConfigInvalid)
                self._attempted(attempt, self._heard, billed=not unsent, error=error)
                raise
            self._attempted(attempt, answer.usage, answer=answer)
            return answer
        finally:
            permits.release()

    async def _called(self, call: Call) -> Answer:
        """The call itself, bounded by the backend's `timeouts.total`."""
        total = self.plan.provider.settings.timeouts.total
        if total is None:
            with self.signal.scope():
                return await self.plan.provider.backend.generate(call)
        slow = GenerationFailed(
            f"backend {self.plan.backend!r} gave no whole answer within {total:g} s"
            " (timeouts.total)",
            reason=Reason.TIMEOUT,
            origin=Origin.PROMPTKIT,
        )
        with self.signal.child() as limited:
            timer = self.services.later(total, lambda: limited.cancel(slow))
            try:
                with limited.scope():
                    return await self.plan.provider.backend.generate(call)
            except GenerationFailed as error:
                if error is slow:
                    raise CallFailed(slow, self._heard) from None
                raise
            finally:
                timer.cancel()

    def _call(self, history: History, attempt: int) -> Call:
        plan = self.plan
        if plan.stream is not None:
            plan.stream.begin(attempt)
        self._heard = UNKNOWN
        return Call(
            run_id=self.run_id,
            attempt=attempt,
            prompt_id=plan.prompt_id,
            model=plan.model,
            history=history,
            parameters=plan.parameters,
            contract=plan.contract,
            session_id=plan.session_id,
            credential=self._credential,
            deltas=plan.stream,
            report=self._hear,
        )

    def _hear(self, usage: TokenCounts) -> None:
        self._heard = usage

    def _attempted(
        self,
        attempt: int,
        usage: TokenCounts,
        *,
        billed: bool = True,
        answer: Answer | None = None,
        error: BaseException | None = None,
    ) -> None:
        if billed or usage != UNKNOWN:
            self._usage = self._usage.with_attempt(usage)
        self._emit(
            lambda time: AttemptFinished(
                run_id=self.run_id,
                time=time,
                attempt=attempt,
                usage=usage,
                finish_reason=answer.finish_reason if answer else None,
                error=_note(error) if error else None,
            )
        )

    @property
    def _retries(self) -> int:
        return max(0, self._attempts - 1 - self._repairs)

    def overdue(self) -> DeadlineExceeded:
        """The error of a run whose time limit has passed."""
        return DeadlineExceeded(
            f"the run was not complete within {self.plan.timeout:g} s (timeoutMs)"
        )

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, GenerationFailed):
            error.attempts = self._attempts
        cancelled = isinstance(error, Cancelled | asyncio.CancelledError | GeneratorExit)
        if isinstance(error, PromptKitError) and not cancelled:
            error.run_id = self.run_id
        outcome = RunOutcome.CANCELLED if cancelled else RunOutcome.FAILED
        self._finish(outcome, error=_note(error))

    def _finish(
        self,
        outcome: RunOutcome,
        *,
        validation: Status | None = None,
        error: ErrorNote | None = None,
    ) -> None:
        self._emit(
            lambda time: RunFinished(
                run_id=self.run_id,
                time=time,
                outcome=outcome,
                attempts=self._attempts,
                transient_retries=self._retries,
                repairs=self._repairs,
                usage=self._usage,
                validation=validation,
                error=error,
            )
        )

    def _emit(self, event: Callable[[float], Event]) -> None:
        """Makes and delivers an event; an observer that raised has ended it for this run."""
        if not self._delivering:
            return
        self._delivering = False
        self._observe(event(self.services.time()))
        self._delivering = True

    def _result(self, answer: Answer, validation: Validation) -> RunResult:
        plan = self.plan
        exchange = None
        if plan.capture:
            final = Message(Role.ASSISTANT, answer.content)
            exchange = Exchange(self.run_id, plan.parent_run_id, plan.history.extended(final))
        return RunResult(
            run_id=self.run_id,
            parent_run_id=plan.parent_run_id,
            content=answer.content,
            validation=validation,
            finish_reason=answer.finish_reason,
            refusal=answer.refusal,
            usage=self._usage,
            attempts=self._attempts,
            transient_retries=self._retries,
            repairs=self._repairs,
            profile=plan.profile,
            backend=plan.backend,
            model=plan.model,
            session_id=plan.session_id,
            exchange=exchange,
        )


def _note(error: BaseException) -> ErrorNote:
    match error:
        case CallFailed():
            return _note(error.error)
        case GenerationFailed():
            return ErrorNote(kind=error.kind, reason=error.reason, http_status=error.http_status)
        case PromptKitError():
            return ErrorNote(kind=error.kind)
        case asyncio.CancelledError():
            return ErrorNote(kind=Kind.CANCELLED)
        case _:
            return ErrorNote(kind=Kind.INTERNAL)
