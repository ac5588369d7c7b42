"""The command, as its script and ``python -m assay`` start it."""

import gc


def main() -> None:
    """Load the command, and run it."""
    gc.disable()  # what is loaded stays: to look for garbage in it takes a twentieth of starting
    from assay.cli.main import main as command  # noqa: PLC0415 (as that is what is meant)

    command()


if __name__ == "__main__":
    main()
