"""The process that delivers a notification: reads it from standard input, says of each target what became of it."""

from __future__ import annotations

import logging
import sys

import msgspec

from ascend_sn.compare.notify import Delivery, Request, service_of

__all__ = ["main"]


def main() -> None:
    """Deliver; one line of JSON for each target, written as soon as it is known."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    logging.disable(logging.CRITICAL)  # apprise logs addresses
    for target in request.targets:
        delivery = _delivered(target, request)
        sys.stdout.buffer.write(msgspec.json.encode(delivery) + b"\n")
        sys.stdout.buffer.flush()


def _delivered(target: str, request: Request) -> Delivery:
    service = service_of(target)
    try:
        import apprise
    except ModuleNotFoundError:
        return Delivery(service=service, problem="notify.no-apprise")
    notifier = apprise.Apprise()
    if not notifier.add(target):
        return Delivery(service=service, problem="notify.unknown-target")
    message = request.notification
    accepted = notifier.notify(
        title=message.title,
        body=message.body,
        notify_type={
            "success": apprise.NotifyType.SUCCESS,
            "warning": apprise.NotifyType.WARNING,
            "failure": apprise.NotifyType.FAILURE,
        }[message.kind],
        body_format=apprise.NotifyFormat.TEXT,
    )
    return Delivery(service=service, problem=None if accepted else "notify.refused")


if __name__ == "__main__":
    main()
