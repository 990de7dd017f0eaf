"""Apache's mod_dav with a folder of this machine: a plain file server, which has neither users nor a cloud."""

import os
import pwd
import shutil
import tempfile
from pathlib import Path

from benchmark.bench_stack import BenchStack
from syncstack.layout import write

from .webdav_server import WebDAVServer

MODULES = "/usr/lib/apache2/modules"
USER = "www-data"  # Apache does not serve files as root

CONFIGURATION = """
ServerName localhost
ServerRoot {folder}
PidFile {folder}/apache.pid
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dav_module {modules}/mod_dav.so
LoadModule dav_fs_module {modules}/mod_dav_fs.so
ErrorLog {folder}/error.log
DavLockDB {folder}/locks
DocumentRoot {folder}/files
KeepAlive On
MaxKeepAliveRequests 0
<Directory {folder}/files>
    Dav On
    Require all granted
</Directory>
"""


class ModDAV(WebDAVServer):
    name = "mod_dav"

    def __init__(self, stack: BenchStack):
        super().__init__(stack)
        self.folder = Path(tempfile.mkdtemp(prefix="syncserver-bench-dav-"))

    def command(self) -> list:
        (self.folder / "files").mkdir()
        configuration = CONFIGURATION.format(folder=self.folder, port=self.backend, modules=MODULES)
        if os.geteuid() == 0:
            configuration += f"User {USER}\nGroup {USER}\n"
            owner = pwd.getpwnam(USER)
            for path in (self.folder, self.folder / "files"):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        write(self.folder / "apache.conf", configuration)
        return ["apache2", "-f", self.folder / "apache.conf", "-D", "FOREGROUND"]

    def __exit__(self, *_) -> None:
        super().__exit__()
        shutil.rmtree(self.folder)
