"""Print the set-up commands of a README, one a line: the tests first, then the main job.

They are the ``sh`` code blocks under the heading "Two commands"; each block is one command.
"""

import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="utf-8")
section = text.split("## Two commands", 1)[1].split("\n## ", 1)[0]
blocks = [" ".join(b.split("\n")).strip() for b in re.findall(r"```sh\n(.*?)```", section, re.S)]
main_job, tests = blocks
print(tests)
print(main_job)
