"""What every process of the command would make anew before it begins: the server that processes
are forked from has made it."""

from assay.labellers import refusals
from assay.reports.page import environment
from assay.web.replies import PAGES
from tests.engine.asking import labeller, requests

refusals.gold_declines(["Nobody knows."])
for _templates in (PAGES, environment()):
    for _name in _templates.list_templates():
        _templates.get_template(_name)
labeller("http://127.0.0.1").rendered(requests(1)[0])
