import ArgumentParser

/// What a person may type, for the help of each command.
enum CommandExamples {
    /// By the command's words; each with what it does.
    static let all: [String: [(line: String, does: String)]] = [
        "": [
            ("syncctl doctor", "examines this host"), ("syncctl users list --name Alice", "finds a person"),
            ("syncctl help backup make", "explains one command"),
        ],
        "setup": [
            ("syncctl setup", "asks for what is missing, and makes the server"),
            ("syncctl setup --dry-run", "only tells what it would do"),
        ],
        "apps": [
            ("syncctl apps list", "the apps of this host"),
            ("syncctl apps create notes && syncctl --app notes setup", "adds one"),
        ],
        "apps list": [("syncctl apps list --json", "for programs")],
        "apps create": [("syncctl apps create notes", "then syncctl --app notes setup")],
        "apps remove": [
            ("syncctl apps remove notes", "stops it; what it has stays"),
            ("syncctl apps remove notes --purge", "what would be deleted; --yes does it"),
        ],
        "apps refresh": [("syncctl apps refresh", "as the package does when it is upgraded")],
        "authority": [("syncctl authority show", "what a phone needs to trust it")],
        "authority show": [("syncctl authority show", "the file, and how a phone gets to know it")],
        "authority trust": [("syncctl authority trust", "for programs on this host")],
        "authority distrust": [("syncctl authority distrust", "when the trial is over")],
        "authority renew": [("syncctl authority renew", "as syncd-authority.timer does")],
        "refresh-site": [("syncctl refresh-site", "as the package does after an upgrade of nginx")],
        "config": [("syncctl config check", "what is wrong with /etc/syncd/syncd.json")],
        "config check": [
            ("syncctl config check", "what is wrong with /etc/syncd/syncd.json"),
            ("syncctl config check --connect", "also whether the database accepts it, as a reload does"),
        ],
        "keys": [("syncctl keys rotate status", "which step of a rotation is next")],
        "keys generate": [
            ("syncctl keys generate >/etc/syncd/secrets/sealing-key", "makes the key of a server set up by hand")
        ],
        "keys rotate": [("syncctl keys rotate status", "which step is next")],
        "keys rotate begin": [
            ("syncctl keys rotate begin", "makes a key"),
            ("syncctl keys rotate begin --key sealing-key-2", "takes the one of another host"),
        ],
        "keys rotate switch": [("syncctl keys rotate switch", "after begin and systemctl reload syncd")],
        "keys rotate finish": [("syncctl keys rotate finish", "after switch and systemctl reload syncd")],
        "keys rotate status": [("syncctl keys rotate status --json", "for programs")],
        "keys reseal": [("syncctl keys reseal", "after sealing.keyFile was changed by hand")],
        "migrate": [
            ("syncctl migrate", "after an update, on one host of the database"),
            ("syncctl migrate --check", "whether that is necessary"),
        ],
        "import": [("syncctl import --from-config Server.json --dry-run", "what a SyncServerII would bring")],
        "status": [
            ("syncctl status", "counts, and pending work"),
            ("syncctl status --watch --interval 5", "every five seconds"),
        ],
        "report": [("syncctl report --html report.html", "a page with pictures")],
        "users": [("syncctl users list --near-quota", "those near a limit"), ("syncctl users show 7", "one of them")],
        "users list": [
            ("syncctl users list --name Alice", "finds a person"),
            ("syncctl users list --near-quota --json", "those near a limit, for programs"),
        ],
        "users show": [("syncctl users show 7", "devices, groups, and what the user owns")],
        "users export": [
            ("syncctl users export 7 --to alice --files", "all that is stored about a person, and their files")
        ],
        "users erase": [
            ("syncctl users erase 7", "what would happen"), ("syncctl users erase 7 --yes", "does it, with a receipt"),
        ],
        "groups": [("syncctl groups list --member 7", "the groups of a user")],
        "groups list": [("syncctl groups list --name Holidays", "finds a group")],
        "groups show": [("syncctl groups show 6d1f9f4e-5a0b-4c55-9d0e-3f6c1f1d2a10", "members, files, invitations")],
        "files": [("syncctl files explain 0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8", "what happened to a file")],
        "files list": [("syncctl files list 6d1f9f4e-5a0b-4c55-9d0e-3f6c1f1d2a10 --living", "the files of a group")],
        "files explain": [
            ("syncctl files explain 0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8", "its history, and where its contents are"),
            ("syncctl files explain 0b7c9a52-8f0e-4d6b-a1c3-52e1d7f4b9c8 --no-clouds", "asks no storage"),
        ],
        "jobs": [("syncctl jobs list --failing", "work that has failed before")],
        "jobs list": [("syncctl jobs list --kind sendPush --failing", "notifications that could not be sent")],
        "jobs show": [("syncctl jobs show 12", "what it is, and the last error")],
        "jobs retry": [("syncctl jobs retry --failing", "once the reason is gone")],
        "jobs drop": [("syncctl jobs drop 12", "gives one up")],
        "switches": [("syncctl switches list --finished --user 7", "the former accounts of a user")],
        "switches list": [("syncctl switches list", "those in progress")],
        "switches show": [("syncctl switches show 3f0b1c9e-8a57-4d0c-9a31-5b1d6f2e7c44", "what could not be moved")],
        "switches undo": [("syncctl switches undo 3f0b1c9e-8a57-4d0c-9a31-5b1d6f2e7c44", "gives the account back")],
        "doctor": [
            ("syncctl doctor", "everything, what is wrong first"), ("syncctl doctor --quiet", "only what is wrong"),
            ("syncctl doctor --ignore connectionsFew --json", "for a timer"),
        ],
        "fsck": [
            ("syncctl fsck", "whether the rows fit together"),
            ("syncctl fsck --clouds --sample 1%", "and the storages"),
        ],
        "try": [("syncctl try dropbox --report dropbox.txt", "with a test account, and keeps the report")],
        "maintenance": [("syncctl maintenance status", "whether the server is closed")],
        "maintenance on": [
            ("syncctl maintenance on \"We are back at noon (UTC).\"", "closes all hosts"),
            ("syncctl maintenance on --this-host \"Moving.\"", "closes this one, without the database"),
        ],
        "maintenance off": [("syncctl maintenance off", "opens the server, and this host")],
        "maintenance status": [
            ("syncctl maintenance status", "since when, where, and with which text"),
            ("syncctl maintenance status --this-host", "without the database"),
        ],
        "backup": [("syncctl backup list", "what can be restored")],
        "backup make": [
            ("syncctl backup make before-the-update.backup.gz", "into a file"),
            ("syncctl backup make --into /var/backups/syncd", "as every hour"),
        ],
        "backup list": [("syncctl backup list", "those in /var/backups/syncd, the newest last")],
        "backup verify": [
            ("syncctl backup verify syncd-2026-11-25T030000Z.backup.gz", "whether it is whole"),
            (
                "syncctl backup verify --scratch-database scratch syncd-2026-11-25T030000Z.backup.gz",
                "whether it can be restored"
            ),
        ],
        "backup copy": [("syncctl backup copy", "the newest one, by /etc/syncd/backup-copy")],
        "backup restore": [
            ("syncctl backup restore syncd-2026-11-25T030000Z.backup.gz", "makes a server of a bare host")
        ],
        "backup mark-restored": [
            ("syncctl backup mark-restored 2026-11-25T03:00:00Z", "after a dump of that time was put back")
        ],
        "openapi": [("syncctl openapi 1.0.0 >openapi.json", "the protocol, for tools")],
        "unit-settings": [("syncctl unit-settings /run/systemd/generator", "as systemd's generator does")],
        "removal-statements": [("syncctl removal-statements | mariadb", "as the removal of the package does")],
    ]

    /// The end of a help page; empty for what has none, such as a version.
    /// - Parameter arguments: with which help was asked for.
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
