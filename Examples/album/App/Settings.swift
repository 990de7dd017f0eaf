import Foundation

/// A device's user and server.
struct Settings: Codable {
    var server: URL
    /// The sandbox's control interface, which signs people in without a browser.
    var sandbox: URL
    /// The person's account at the sandbox.
    var accountID: String
    /// The person's name, for comments.
    var person: String

    private static func file(_ folder: URL) -> URL { folder.appending(path: "device.json") }

    init(server: URL, sandbox: URL, accountID: String, person: String) {
        self.server = server
        self.sandbox = sandbox
        self.accountID = accountID
        self.person = person
    }

    /// Reads a device's folder.
    init(_ folder: URL) throws {
        guard let data = try? Data(contentsOf: Self.file(folder)) else { throw AlbumError.nobodySignedIn }
        self = try JSONDecoder().decode(Self.self, from: data)
    }

    func save(in folder: URL) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try JSONEncoder().encode(self).write(to: Self.file(folder), options: .atomic)
    }
}
