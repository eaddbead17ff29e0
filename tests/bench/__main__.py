"""``python tests/bench``: every measure in turn; exits with 1 when one is over its bound."""

import subprocess
import sys
from pathlib import Path

codes = [
    subprocess.run([sys.executable, str(script)], check=False).returncode
    for script in sorted(Path(__file__).parent.glob("bench_*.py"))
]
sys.exit(max(codes))
