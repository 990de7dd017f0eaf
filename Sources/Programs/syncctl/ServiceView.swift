import Configuration
import Operations
import Posix
import Store
import SyncProtocol

/// What the services can read of a configuration and of the files that it names, which is less than what root can read:
/// they run as their own user, see no home directories, and get files with relative names only from systemd, which
/// passes on the folder `secrets` beside the configuration.
struct ServiceView {
    /// The user that the app's units run as.
    static var usualUser: String { HostedApp.current.prefix }
    /// Places that the package's units hide from the services (ProtectHome=, PrivateTmp=).
    private static let hiddenFolders = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"]

    let path: String
    let user: UserAccount

    /// The services' view of a configuration.
    ///
    /// - Parameter userName: the user that they run as; `nil`: the package's user, for the package's configuration.
    /// - Returns: `nil` if this host has no such services.
    /// - Throws: ``CommandFailure`` if no user has that name, or this process cannot become that user.
    init?(of path: String, as userName: String?) throws {
        self.path = path
        guard userName != nil || path == SetupPaths.configuration else { return nil }
        guard let user = UserAccount(userName ?? Self.usualUser) else {
            if let userName { throw CommandFailure(.foundSomething, "there is no user \(userName)") }
            return nil
        }
        guard user.canBeTried else {
            if userName != nil { throw CommandFailure(.noPermission, "only root can see what \(user.name) sees") }
            return nil
        }
        self.user = user
    }

    /// Sentences about problems that prevent services from starting and that root would not notice.
    /// - Parameter known: problems that root also sees.
    func problems(besides known: [String]) -> [String] {
        do { try user.tryReading(path) } catch {
            return ["the services, which run as \(user.name), cannot read \(path): \(error)"]
        }
        var problems: [String] = []
        var files: Set<String> = []
        for role in ServerRole.allCases {
            do {
                let configuration = try ServerConfiguration(rehearsing: role, with: path)
                files.formUnion(
                    configuration.secretFiles.filter { $0.readers.contains(role) && $0.name.hasPrefix("/") }.map(\.name)
                )
                if let sandbox = configuration.sandbox { files.insert(sandbox.caFile) }
            } catch {
                problems += error.problems.map(\.sentence).filter { !known.contains($0) }.map {
                    "\($0); services get only the files in \(secretsFolder)"
                }
            }
        }
        return Self.unique(problems) + files.sorted().compactMap(problem(with:))
    }

    private var secretsFolder: String {
        (path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ".") + "/secrets"
    }

    private func problem(with file: String) -> String? {
        if user.name == Self.usualUser, let hidden = Self.hiddenFolders.first(where: file.hasPrefix) {
            return "the services do not see \(file): the units hide \(hidden)"
        }
        do { try user.tryReading(file) } catch {
            return "the services, which run as \(user.name), cannot read \(file): \(error)"
        }
        return nil
    }

    private static func unique(_ sentences: [String]) -> [String] {
        var seen: Set<String> = []
        return sentences.filter { seen.insert($0).inserted }
    }
}
