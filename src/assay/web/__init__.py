"""The workbench: a local web server in whose pages people give every label of a folder."""
