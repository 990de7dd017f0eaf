internal import FoundationEssentials

/// The caller of a Drive request, and the files that its app may see.
struct DriveCaller {
    let account: Account
    /// The Cloud project of the app.
    let project: String
    /// Whether the user granted the scope for all files.
    let seesAll: Bool
    /// Whether the request declares support for shared drives; without it, files there do not exist.
    let knowsSharedDrives: Bool

    /// The caller that started an upload, used until the upload ends.
    init(account: Account, project: String) {
        self.account = account
        self.project = project
        knowsSharedDrives = false
        seesAll = account.scopes.contains("https://www.googleapis.com/auth/drive")
    }

    /// The caller identified by the request's access token.
    /// - Throws: ``DriveError`` 401 for an invalid or expired token, 403 if no Drive scope was granted.
    init(_ request: SandboxRequest, server: SandboxServer) throws(DriveError) {
        guard let value = request.bearerToken ?? request.query["access_token"] else {
            if request.header("authorization") == nil {
                server.note(request, "no-authorization", "the request has no access token")
                throw DriveError(
                    403, "dailyLimitExceededUnreg",
                    "Daily Limit for Unauthenticated Use Exceeded. Continued use requires signup.",
                    domain: "usageLimits")
            }
            server.note(request, "authorization", "the Authorization header is not a bearer token")
            throw .invalidCredentials
        }
        let now = server.now
        guard let (account, token) = server.withState({ $0.accessToken(value) }), account.provider == .google,
            !token.isRevoked, token.expiresAt > now
        else { throw .invalidCredentials }
        let scopes = token.scopes ?? account.scopes
        seesAll = scopes.contains("https://www.googleapis.com/auth/drive")
        guard seesAll || scopes.contains("https://www.googleapis.com/auth/drive.file") else {
            throw DriveError(
                403, "insufficientPermissions", "Request had insufficient authentication scopes.", domain: "global")
        }
        self.account = account
        project = RegisteredApps.project(of: token.audience)
        knowsSharedDrives = request.query["supportsAllDrives"] == "true"
    }

    /// Whether the app may see this file.
    func sees(_ file: DriveFile) -> Bool {
        (file.sharedDrive == nil || knowsSharedDrives) && (seesAll || file.projects.contains(project))
    }

    /// The file with that ID, if the app may see it.
    /// - Throws: ``DriveError/notFound(_:)``, also for files of other apps.
    func file(_ id: String, in drive: Drive) throws(DriveError) -> DriveFile {
        guard let file = drive[id], sees(file) else { throw .notFound(id) }
        return file
    }

    /// The folder in which to create a file.
    /// - Throws: ``DriveError`` if it is not visible or not a folder. The root may always be named.
    func folder(_ id: String?, in drive: Drive) throws(DriveError) -> DriveFile {
        guard let folder = drive[id ?? "root"], folder.id == drive.rootID || sees(folder) else {
            throw .notFound(id ?? "root")
        }
        guard folder.isFolder else {
            throw DriveError(403, "parentNotAFolder", "The specified parent is not a folder.", location: "parents")
        }
        return folder
    }
}
