"""`python -m uomp`: the same program as the `uomp` command."""


def main() -> None:
    """Run the command line. The import is late so that `--version` is quick."""
    from uomp.node.cli import run  # noqa: PLC0415

    run()


if __name__ == "__main__":
    main()
