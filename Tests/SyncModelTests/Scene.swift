import SyncModel
import Testing

/// A few people and a shorthand for their requests; every reply is the one that the model predicts.
struct Scene {
    static let anna = Person("Anna", .google)
    static let ben = Person("Ben", .google)
    static let chris = Person("Chris", .facebook)
    static let group = "G"

    private(set) var world = World()
    private var serial = 0

    /// Creates a scene in which Anna is a user with a group.
    init() { ask(.addUser(group: Self.group, name: nil, folder: "F"), Self.anna) }

    var masterVersion: Int { world.groups[Self.group]?.masterVersion ?? -1 }
    var here: Request.GroupSelection { .init(Self.group, at: masterVersion) }

    /// Makes a request and returns the answer that the server must send.
    @discardableResult
    mutating func ask(_ request: Request, _ person: Person, on device: String = "1") -> Answer {
        serial += 1
        return world.respond(to: request, from: Caller(person, on: device), as: serial)
    }

    /// Adds `person` to the group, with an invitation from Anna and an invented code.
    mutating func letIn(_ person: Person, _ permission: Permission = .write) {
        var possibilities = Possibilities(of: world)
        let code = "code \(serial)"
        let invite = Request.createSharingInvitation(
            group: Self.group, permission, allowsSocial: true, acceptors: 1)
        let reply = Reply.success(.object(["sharingInvitationUUID": .text(code)]))
        let exchange = Exchange(invite, from: Caller(Self.anna, on: "1"), serial: 1_000 + serial, reply: reply)
        #expect(possibilities.account(for: [exchange]) == [])
        world = possibilities.likeliest
        #expect(ask(.redeemSharingInvitation(code: code, folder: "F"), person).isSuccess)
    }

    func content(_ text: String) -> Content {
        Content(bytes: Array(text.utf8), checkSums: ["Google": text, "Dropbox": "D" + text])
    }

    /// An UploadFile request at the current master version.
    func upload(
        _ file: String, _ version: Int, _ text: String, metadata: Metadata? = nil, undeletes: Bool = false
    ) -> Request {
        .uploadFile(
            Request.Upload(
                file, in: here, version: version, mimeType: "text/plain", content: content(text), checkSum: text,
                metadata: metadata, undeletes: undeletes))
    }

    func file(_ uuid: String) -> Request.FileSelection { .init(uuid, in: here) }

    /// Commits a device's staged changes.
    @discardableResult
    mutating func commit(_ person: Person, on device: String = "1") -> Answer {
        ask(.doneUploads(here, newName: nil, message: nil), person, on: device)
    }

    func committed(_ uuid: String) -> File? { world.groups[Self.group]?.files[uuid] }

    func staged(_ uuid: String, _ person: Person, on device: String = "1") -> StagedChange? {
        world.groups[Self.group]?.staged[Caller(person, on: device)]?[uuid]
    }
}

extension Answer {
    /// The error codes; empty for a success.
    var codes: [String] { if case .refused(let refusals) = self { refusals.map(\.code) } else { [] } }
    /// Whether the answer is a success, even if stale.
    var isSuccess: Bool { codes.isEmpty }
    /// A member of the message.
    func member(_ name: String) -> Template? {
        if case .success(.object(let members)) = self { members[name] } else { nil }
    }
}
