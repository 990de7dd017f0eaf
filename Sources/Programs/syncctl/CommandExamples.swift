import ArgumentParser

/// Examples for the help of each command.
enum CommandExamples {
    /// By the command's words; each line with its effect.
    static let all: [String: [(line: String, does: String)]] = [
        "": [
            ("syncctl doctor", "examines this host"), ("syncctl users list --name Alice", "finds a person"),
            ("syncctl help backup make", "explains one command"),
        ],
        "setup": [
            ("syncctl setup", "asks for missing settings, and sets up the server"),
            ("syncctl setup --dry-run", "only lists what it would do"),
        ],
        "apps": [
            ("syncctl apps list", "the apps of this host"),
            ("syncctl apps create notes && syncctl --app notes setup", "adds one"),
        ],
        "apps list": [("syncctl apps list --json", "for programs")],
        "apps create": [("syncctl apps create notes", "then syncctl --app notes setup")],
        "apps remove": [
            ("syncctl apps remove notes", "stops it; its data stays"),
            ("syncctl apps remove notes --purge", "lists what would be deleted; --yes deletes it"),
        ],
        "apps refresh": [("syncctl apps refresh", "as the package does during an upgrade")],
        "authority": [("syncctl authority show", "what a phone needs to trust it")],
        "authority show": [("syncctl authority show", "the file, and how to install it on a phone")],
        "authority trust": [("syncctl authority trust", "for programs on this host")],
        "authority distrust": [("syncctl authority distrust", "after the trial")],
        "authority renew": [("syncctl authority renew", "as syncd-authority.timer does")],
        "refresh-site": [("syncctl refresh-site", "as the package does after an upgrade of nginx")],
        "config": [("syncctl config check", "mistakes in /etc/syncd/syncd.json")],
        "config check": [
            ("syncctl config check", "mistakes in /etc/syncd/syncd.json"),
            ("syncctl config check --connect", "also whether the database accepts it, as a reload does"),
        ],
        "keys": [("syncctl keys rotate status", "which step of a rotation is next")],
        "keys generate": [
            ("syncctl keys generate >/etc/syncd/secrets/sealing-key", "creates the key of a server set up by hand")
        ],
        "keys rotate": [("syncctl keys rotate status", "which step is next")],
        "keys rotate begin": [
            ("syncctl keys rotate begin", "creates a key"),
            ("syncctl keys rotate begin --key sealing-key-2", "uses another host's key"),
        ],
        "keys rotate switch": [("syncctl keys rotate switch", "after begin and systemctl reload syncd")],
        "keys rotate finish": [("syncctl keys rotate finish", "after switch and systemctl reload syncd")],
        "keys rotate status": [("syncctl keys rotate status --json", "for programs")],
        "keys reseal": [("syncctl keys reseal", "after sealing.keyFile was changed by hand")],
        "migrate": [
            ("syncctl migrate", "after an update, on one host of the database"),
            ("syncctl migrate --check", "reports whether that is necessary"),
        ],
        "import": [
            (
                "syncctl import --from-config Server.json --dry-run",
                "what would be imported from a SyncServerII"
            )
        ],
        "status": [
            ("syncctl status", "counts, and pending work"),
            ("syncctl status --exact", "counts every file"),
            ("syncctl status --watch --interval 5", "every five seconds"),
        ],
        "report": [("syncctl report --html report.html", "a page with charts")],
        "users": [("syncctl users list --near-quota", "those near a limit"), ("syncctl users show 7", "one of them")],
        "users list": [
            ("syncctl users list --name Alice", "finds a person"),
            ("syncctl users list --near-quota --json", "those near a limit, for programs"),
        ],
        "users show": [("syncctl users show 7", "devices, groups, and what the user owns")],
        "users export": [
            ("syncctl users export 7 --to alice --files", "all data stored about a user, and their files")
        ],
        "users erase": [
            ("syncctl users erase 7", "what would happen"),
            (
                "syncctl users erase 7 --yes",
                "removes the user, and prints a receipt"
            ),
        ],
        "groups": [("syncctl groups list --member 7", "the groups of a user")],
        "groups list": [("syncctl groups list --name Holidays", "finds a group")],
        "groups show": [("syncctl groups show 6d1f9f4e-5a0b-4c55-9d0e-3f6c1f1d2a10", "members, files, invitations")],
        "files": [("syncctl files explain 0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8", "what happened to a file")],
        "files list": [("syncctl files list 6d1f9f4e-5a0b-4c55-9d0e-3f6c1f1d2a10 --living", "the files of a group")],
        "files explain": [
            ("syncctl files explain 0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8", "its history, and where its contents are"),
            ("syncctl files explain 0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8 --no-clouds", "without asking the storage"),
        ],
        "jobs": [("syncctl jobs list --failing", "work that failed before")],
        "jobs list": [("syncctl jobs list --kind sendPush --failing", "notifications that could not be sent")],
        "jobs show": [("syncctl jobs show 12", "what it is, and the last error")],
        "jobs retry": [("syncctl jobs retry --failing", "once the cause is fixed")],
        "jobs drop": [("syncctl jobs drop 12", "discards one")],
        "switches": [("syncctl switches list --finished --user 7", "the former accounts of a user")],
        "switches list": [("syncctl switches list", "those in progress")],
        "switches show": [("syncctl switches show 3f0b1c9e-8a57-4d0c-9a31-5b1d6f2e7c44", "what could not be moved")],
        "switches undo": [("syncctl switches undo 3f0b1c9e-8a57-4d0c-9a31-5b1d6f2e7c44", "returns the account")],
        "doctor": [
            ("syncctl doctor", "all checks, problems first"), ("syncctl doctor --quiet", "only problems"),
            ("syncctl doctor --ignore connectionsFew --json", "for a timer"),
        ],
        "fsck": [
            ("syncctl fsck", "checks whether the rows are consistent"),
            ("syncctl fsck --clouds --sample 1%", "also checks people's storage"),
        ],
        "try": [("syncctl try dropbox --report dropbox.txt", "with a test account; saves the report")],
        "maintenance": [("syncctl maintenance status", "whether the server is closed")],
        "maintenance on": [
            ("syncctl maintenance on \"We are back at noon (UTC).\"", "closes all hosts"),
            ("syncctl maintenance on --this-host \"Moving.\"", "closes only this host, without the database"),
        ],
        "maintenance off": [("syncctl maintenance off", "opens the server, and this host")],
        "maintenance status": [
            ("syncctl maintenance status", "when and where it was closed, and the message"),
            ("syncctl maintenance status --this-host", "without the database"),
        ],
        "backup": [("syncctl backup list", "what can be restored")],
        "backup make": [
            ("syncctl backup make before-the-update.backup.gz", "into a file"),
            ("syncctl backup make --into /var/backups/syncd", "as the timer does every hour"),
        ],
        "backup list": [("syncctl backup list", "those in /var/backups/syncd, newest last")],
        "backup verify": [
            ("syncctl backup verify syncd-2026-11-25T030000Z.backup.gz", "whether it is complete"),
            (
                "syncctl backup verify --scratch-database scratch syncd-2026-11-25T030000Z.backup.gz",
                "whether it can be restored"
            ),
        ],
        "backup copy": [("syncctl backup copy", "the newest one, with /etc/syncd/backup-copy")],
        "backup restore": [
            ("syncctl backup restore syncd-2026-11-25T030000Z.backup.gz", "sets up the server on a bare host")
        ],
        "backup mark-restored": [
            ("syncctl backup mark-restored 2026-11-25T03:00:00Z", "after a dump of that time was put back")
        ],
        "rebuild": [("syncctl rebuild status", "how far it is")],
        "rebuild begin": [
            ("syncctl rebuild begin --folder MyApp", "on an empty database"),
            ("syncctl rebuild begin --hold", "on a restored backup; nobody is served before the end"),
            (
                "syncctl rebuild begin --trust-unsigned --group 3f0b1c9e-8a57-4d0c-9a31-5b1d6f2e7c44",
                "if all keys are lost; first compare what the status lists"
            ),
        ],
        "rebuild status": [("syncctl rebuild status", "groups, missing owners, and unsigned manifests")],
        "rebuild finish": [
            (
                "syncctl rebuild finish --group 3f0b1c9e-8a57-4d0c-9a31-5b1d6f2e7c44",
                "opens it, although an owner is missing"
            )
        ],
        "rebuild end": [("syncctl rebuild end", "when you expect nobody else")],
        "openapi": [("syncctl openapi 1.0.0 >openapi.json", "the protocol, for tools")],
        "unit-settings": [("syncctl unit-settings /run/systemd/generator", "as systemd's generator does")],
        "removal-statements": [("syncctl removal-statements | mariadb", "as the removal of the package does")],
    ]

    /// The end of a help page; empty without examples, as for a version.
    /// - Parameter arguments: those that asked for help.
    static func text(for arguments: [String]) -> String {
        guard arguments.isEmpty || arguments.contains(where: { ["help", "--help", "-h"].contains($0) }) else {
            return ""
        }
        var command: any ParsableCommand.Type = Syncctl.self
        var words: [String] = []
        for argument in arguments where !argument.hasPrefix("-") && argument != "help" {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == argument }) else {
                break
            }
            words.append(argument)
            command = next
        }
        guard let examples = all[words.joined(separator: " ")] else { return "" }
        return "\n\nEXAMPLES:\n" + examples.map { "  \($0.line)\n      \($0.does)" }.joined(separator: "\n")
    }
}
