import ArgumentParser
import Operations
import Posix

/// Adapts nginx's site to the installed nginx; for the package.
struct RefreshSiteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh-site", abstract: "Adapts nginx's site to the installed release of nginx.",
        discussion: """
            For the package, after an upgrade of nginx: since 1.25.1, it expects `http2 on;` instead of a parameter of \
            `listen`. A site that an administrator has changed stays unchanged; the command then prints what to \
            change. Prints nothing if there is nothing to do.
            """, shouldDisplay: false)

    @Option(help: ArgumentHelp("The folder to use as /.", valueName: "folder"), completion: .directory) var root =
        ""

    func run() throws {
        do {
            switch try SetupHost(root: root == "/" ? "" : root, administrator: nil).refreshSite() {
            case .upToDate: break
            case .written: Output.write(["\(SetupPaths.site) now has the form that the installed nginx expects"])
            case .ofAdministrator(let advice): Output.write([advice])
            }
        } catch let failure as SetupFailure {
            throw CommandFailure(.foundSomething, failure.sentence)
        }
    }
}

extension SetupHost {
    enum SiteRefresh {
        case upToDate
        case written
        /// The change that the administrator has to make.
        case ofAdministrator(String)
    }

    /// Writes the site in the form that the installed nginx expects, if setup wrote it, and reloads a running nginx.
    /// - Throws: ``SetupFailure`` if nginx rejects the new site, which then stays unchanged. ``PosixError``.
    func refreshSite() throws -> SiteRefresh {
        let wanted = http2Form
        guard let site = text(of: SetupPaths.site), let present = SiteText.form(of: site), present != wanted else {
            return .upToDate
        }
        let template = (try? AppText().site(text(of: SetupPaths.siteTemplate) ?? "")) ?? ""
        guard SiteText.isUnchanged(site, template: template) else {
            return .ofAdministrator(SiteText.advice(for: wanted))
        }
        let path = place(SetupPaths.site)
        try AtomicFile.write(Array(SiteText.adapted(site, to: wanted).utf8), to: path, like: path)
        guard root.isEmpty else { return .written }
        let outcome = try ChildProcess.run(["nginx", "-t", "-q"])
        guard outcome.status == 0 else {
            try AtomicFile.write(Array(site.utf8), to: path, like: path)
            throw SetupFailure(
                "\(SetupPaths.site) stays unchanged, because nginx rejects the new one: \(outcome.output)")
        }
        if isRunning { _ = try ChildProcess.run(["systemctl", "try-reload-or-restart", "nginx.service"]) }
        return .written
    }
}
