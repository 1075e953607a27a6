"""Let matplotlib use a cache folder that it cannot write.

The root file system is read-only at run time. Unpatched, matplotlib then ignores the font list baked into
MPLCONFIGDIR, warns on stderr and scans the fonts anew in every kernel (seconds).
"""

import importlib.util
import pathlib

source = pathlib.Path(importlib.util.find_spec("matplotlib").origin)
text = source.read_text()
writable = "os.access(str(configdir), os.W_OK)"
assert text.count(writable) == 1, "matplotlib changed: look at _get_config_or_cache_dir again"
source.write_text(text.replace(writable, "os.access(str(configdir), os.R_OK)"))
