import ArgumentParser
import Operations
import Posix

/// Adapts nginx's site to the nginx that is installed; for the package.
struct RefreshSiteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh-site", abstract: "Adapts nginx's site to the release of nginx that is installed.",
        discussion: """
            For the package, when nginx was upgraded: from 1.25.1 on it wants `http2 on;` where it had a parameter of `listen` \
            before. A site that an administrator has changed is left alone, and what to change in it is said. Prints \
            nothing if there is nothing to do.
            """, shouldDisplay: false)

    @Option(help: ArgumentHelp("The folder that stands for /.", valueName: "folder"), completion: .directory) var root =
        ""

    func run() throws {
        do {
            switch try SetupHost(root: root == "/" ? "" : root, administrator: nil).refreshSite() {
            case .upToDate: break
            case .written: Output.write(["\(SetupPaths.site) is written as the installed nginx wants it"])
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
        /// What the administrator is to change.
        case ofAdministrator(String)
    }

    /// Writes the site in the form that the installed nginx wants, if setup wrote it, and lets an nginx that runs read it.
    /// - Throws: ``SetupFailure`` if nginx refuses the new site; it is as it was then. ``PosixError``.
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
            throw SetupFailure("\(SetupPaths.site) stays as it is, as nginx refuses the new one: \(outcome.output)")
        }
        if isRunning { _ = try ChildProcess.run(["systemctl", "try-reload-or-restart", "nginx.service"]) }
        return .written
    }
}
