public import Store

/// Adapts the texts of the package's files to an added app. The files derive from those that the package installs, so
/// that an added app has the same units, restrictions and limits, even after an upgrade. For the package's app, every
/// text stays unchanged.
public struct AppText: Sendable {
    private let app: HostedApp

    public init(_ app: HostedApp = .current) { self.app = app }

    // MARK: Names

    /// Replaces the package's names in a text: those of units, users, folders, and the command. Names that already
    /// contain the app's name stay unchanged.
    public func named(_ text: String) -> String {
        guard let name = app.name else { return text }
        let renamed = text.replacing("syncd") { word in
            // "syncdir", "/usr/bin/syncd", "syncd(8)" and "syncd.json" are the same for all apps.
            guard !word.isContinued, !word.follows("/usr/bin/"), !word.precedes("("), !word.precedes(".json") else {
                return nil
            }
            if word.follows("/etc/") || word.follows("/run/") || word.follows("RuntimeDirectory=") {
                return word.precedes("/\(name)", asWord: true) ? nil : ("syncd/\(name)", "")
            }
            // The package's site must stay nginx's first one, because nginx uses the first for unknown names.
            if word.follows("sites-available/") || word.follows("sites-enabled/") { return ("syncd_\(name)", "") }
            if word.precedes("-default.slice") { return (app.prefix, "-default") }
            return word.precedes("-\(name)", asWord: true) ? nil : (app.prefix, "")
        }
        let commanded = renamed.replacing("syncctl") { word in
            guard !word.isContinued, word.precedesArgument, !word.precedes(" --app") else { return nil }
            return (app.command, "")
        }
        return commanded.replacing("/usr/lib/syncserver/reload") { word in
            word.precedes(" --app") ? nil : ("/usr/lib/syncserver/reload --app \(name)", "")
        }
    }

    /// A systemd unit or a drop-in. It does nothing after the package is removed.
    public func unit(_ text: String) -> String {
        guard app.name != nil else { return text }
        var lines = named(text).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // One instance of each role at first: systemd/reload starts a second one while the first restarts.
        for (number, line) in lines.enumerated() where line.hasPrefix("Wants=\(app.prefix)-") {
            let wanted = line.dropFirst("Wants=".count).split(separator: " ").filter { !$0.hasSuffix("@2.service") }
            lines[number] = "Wants=" + wanted.joined(separator: " ")
        }
        if let section = lines.firstIndex(of: "[Unit]") {
            lines.insert("ConditionFileIsExecutable=/usr/bin/syncd", at: section + 1)
        }
        for (number, line) in lines.enumerated() where line.hasPrefix("Description=SyncServer") {
            lines[number] = "Description=SyncServer \(app.label)" + line.dropFirst("Description=SyncServer".count)
        }
        return lines.joined(separator: "\n")
    }

    /// The drop-in of all roles, which passes the app's name to the processes.
    func roles(_ text: String) -> String {
        guard let name = app.name else { return text }
        return named(text).replacing("\n[Service]\n", with: "\n[Service]\nEnvironment=\(HostedApp.variable)=\(name)\n")
    }

    // MARK: nginx

    /// The line that turns on the limit for each app (`$syncd_share` in syncd-http.conf). Several apps add it to the
    /// same nginx map, which allows duplicates only for regular expressions.
    static let share = "~^0$ all;\n"

    /// A file that an app's site includes, or the site itself. Each app has its own upstreams and zones; the package's
    /// site contains the directives that nginx allows only once, such as variables and the log format.
    public func nginx(_ text: String) -> String {
        guard let name = app.name else { return text }
        return text.replacing("syncd") { word in
            guard !word.isPartOfWord, word.before.last.map({ !"$@<".contains($0) }) ?? true else { return nil }
            if word.precedes("_") { return ("syncd_\(name)", "") }
            if word.follows("include "), AppFiles.ownSnippets.contains(where: { word.precedes("/\($0);") }) {
                return ("syncd/\(name)", "")
            }
            if word.follows("/run/") { return ("syncd/\(name)", "") }
            return word.follows("/var/log/nginx/") ? (app.prefix, "") : nil
        }
    }

    /// The template of the app's site: without the package site's global directives, and with the app's differences.
    /// - Throws: ``SiteText/UnknownTemplate``.
    public func site(_ template: String) throws(SiteText.UnknownTemplate) -> String {
        guard let name = app.name else { return template }
        let once =
            "include syncd/syncd-version.conf;\ninclude syncd/syncd-exempt.conf;\ninclude syncd/syncd-http.conf;\n"
        let locations = "    include syncd/syncd-locations.conf;\n"
        let monitoring = "include syncd/syncd-metrics.conf;\n"
        guard [once, locations, monitoring].allSatisfy(template.contains) else { throw SiteText.UnknownTemplate() }
        let text = template.replacing(once, with: "include syncd/syncd-zones.conf;\n")
            .replacing(
                locations,
                with: """
                        set $syncd_maintenance_folder \(app.maintenanceFolder);
                        # The same as iOSMinimumClientVersion in syncd.json, or empty if that is not set.
                        set $syncd_minimum_ios_client_version "";

                    """ + locations
            )
            .replacing(
                monitoring,
                with: "# /etc/nginx/syncd/apps/\(name).conf has its page, which the package's site includes.\n")
        return nginx(text)
    }

    /// The location of the app's monitoring page, for the one server that has the pages of all apps. It depends on no
    /// other file.
    func monitoringPage(_ text: String) -> String {
        guard let name = app.name, let begin = text.firstRange(of: "    set $syncd_host_closed"),
            let end = text[begin.lowerBound...].firstRange(of: "\n    }\n")
        else { return "" }
        return String(text[begin.lowerBound..<end.upperBound]).replacing("|ready)$", with: "|ready)/\(name)$")
            .replacing("fastcgi_pass syncd_api;", with: "fastcgi_pass unix:\(app.runtimeFolder)/api.sock;")
            .replacing("$syncd_maintenance_folder", with: app.maintenanceFolder)
            .replacing("$syncd_host_closed", with: "$syncd_\(name)_host_closed")
    }
}

/// A place in a text where a word occurs.
private struct Occurrence {
    let before: Substring
    let after: Substring

    func follows(_ text: String) -> Bool { before.hasSuffix(text) }
    func precedes(_ text: String) -> Bool { after.hasPrefix(text) }

    /// Whether `text` follows, and no letter, digit or underscore after it.
    func precedes(_ text: String, asWord: Bool) -> Bool {
        after.hasPrefix(text) && !(after.dropFirst(text.count).utf8.first.map(Self.isWord) ?? false)
    }

    /// Whether a letter, digit or underscore precedes this place.
    var isPartOfWord: Bool { before.utf8.last.map(Self.isWord) ?? false }
    /// Whether the occurrence is part of a longer word.
    var isContinued: Bool { isPartOfWord || (after.utf8.first.map(Self.isWord) ?? false) }
    /// Whether a space and a command's name follow.
    var precedesArgument: Bool {
        after.hasPrefix(" ") && after.dropFirst().utf8.first.map { (0x61...0x7A).contains($0) || $0 == 0x2D } == true
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
    }
}

extension String {
    /// - Parameter change: the replacement of the word, and the text after the word that it replaces as well; `nil` to
    ///   keep the word.
    fileprivate func replacing(_ word: String, _ change: (Occurrence) -> (String, String)?) -> String {
        var result = ""
        var rest = self[...]
        while let range = rest.firstRange(of: word) {
            let place = Occurrence(before: self[..<range.lowerBound], after: self[range.upperBound...])
            result += rest[..<range.lowerBound]
            guard let (other, dropped) = change(place) else {
                result += word
                rest = rest[range.upperBound...]
                continue
            }
            result += other
            rest = rest[range.upperBound...].dropFirst(dropped.count)
        }
        return result + rest
    }
}
