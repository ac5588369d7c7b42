"""The workbench: a local web server where people label the units of a folder."""
