"""`python -m ascend_sn` is the command `ascend-sn`."""

from ascend_sn.cli.main import main

if __name__ == "__main__":
    main()
