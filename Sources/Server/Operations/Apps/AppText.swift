public import Store

/// How the files that the package has for its own app read for an added one.
///
/// They are made from what the package installs, so that an added app has the same units, restrictions and limits, and gets
/// those of the next release with it. For the package's app every text stays as it is.
public struct AppText: Sendable {
    private let app: HostedApp

    public init(_ app: HostedApp = .current) { self.app = app }

    // MARK: Names

    /// A text with the package's names: of units, users, folders, and of the command. What has the app's name already keeps
    /// it.
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
            // Before nginx's site of the package's app comes no other one, as the first is asked for unknown names.
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

    /// A unit of systemd's, or a drop-in. It does nothing once the package is gone.
    public func unit(_ text: String) -> String {
        guard app.name != nil else { return text }
        var lines = named(text).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        // One instance of each role at first: systemd/reload starts another one for the time in which it restarts.
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

    /// The drop-in of all roles: the processes know whose they are.
    func roles(_ text: String) -> String {
        guard let name = app.name else { return text }
        return named(text).replacing("\n[Service]\n", with: "\n[Service]\nEnvironment=\(HostedApp.variable)=\(name)\n")
    }

    // MARK: nginx

    /// What turns on the limit for each app (`$syncd_share` in syncd-http.conf). Several apps have it, which only a regular
    /// expression may be in one map of nginx.
    static let share = "~^0$ all;\n"

    /// A file that an app's site includes, or the site itself. Upstreams and zones are the app's own; what nginx has once, such
    /// as variables and the log's format, is in the package's site.
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

    /// The template of the app's site: without what the package's site says for all of nginx, and with what differs.
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

    /// The location with what monitoring asks about the app, for the one server that has the pages of all apps. It depends on
    /// no other file.
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

/// A place in a text where a word stands.
private struct Occurrence {
    let before: Substring
    let after: Substring

    func follows(_ text: String) -> Bool { before.hasSuffix(text) }
    func precedes(_ text: String) -> Bool { after.hasPrefix(text) }

    /// Whether this stands behind it, and no letter, digit or underscore after that.
    func precedes(_ text: String, asWord: Bool) -> Bool {
        after.hasPrefix(text) && !(after.dropFirst(text.count).utf8.first.map(Self.isWord) ?? false)
    }

    /// Whether a word goes on before this place.
    var isPartOfWord: Bool { before.utf8.last.map(Self.isWord) ?? false }
    /// Whether this is a part of a longer word.
    var isContinued: Bool { isPartOfWord || (after.utf8.first.map(Self.isWord) ?? false) }
    /// Whether a blank and the name of a command stand behind it.
    var precedesArgument: Bool {
        after.hasPrefix(" ") && after.dropFirst().utf8.first.map { (0x61...0x7A).contains($0) || $0 == 0x2D } == true
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
    }
}

extension String {
    /// - Parameter change: what to put in the place of the word, and what goes along with it behind it; `nil`: it stays.
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
