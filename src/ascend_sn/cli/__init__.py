"""The command `ascend-sn`: one module per subcommand, loaded when it is called."""
