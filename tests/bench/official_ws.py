"""The official long-connection client, unmodified: its handler does nothing, and nothing is made durable."""

import sys

import lark_oapi as lark


def main(url: str) -> None:
    builder = lark.EventDispatcherHandler.builder("", "")
    handler = builder.register_p2_im_message_receive_v1(lambda _event: None).build()
    lark.ws.Client("cli_emulator", "secret", event_handler=handler, domain=url).start()


if __name__ == "__main__":
    main(sys.argv[1])
