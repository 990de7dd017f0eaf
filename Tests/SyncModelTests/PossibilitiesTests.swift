import SyncModel
import Testing

@Suite("The model: possible states after lost replies")
struct PossibilitiesTests {
    private var scene = Scene()
    let anna = Caller(Scene.anna, on: "1")

    @Test("A lost reply leaves two possible states, and the group's next reply decides between them")
    mutating func lostReply() {
        var possibilities = Possibilities(of: scene.world)
        let rename = Request.updateSharingGroup(scene.here, name: "new")

        #expect(possibilities.account(for: [Exchange(rename, from: anna, serial: 50, reply: nil)]) == [])
        #expect(possibilities.worlds.count == 2)
        let stale = Reply.success(.object(["masterVersionUpdate": .integer(1)]))
        #expect(possibilities.account(for: [Exchange(rename, from: anna, serial: 51, reply: stale)]) == [])

        #expect(possibilities.worlds.count == 1)
        #expect(possibilities.likeliest.groups[Scene.group]?.name == "new")
    }

    @Test("Two concurrent requests may be performed in either order; any other outcome is rejected")
    mutating func simultaneous() {
        let one = Request.updateSharingGroup(scene.here, name: "one")
        let two = Request.updateSharingGroup(scene.here, name: "two")
        let stale = Reply.success(.object(["masterVersionUpdate": .integer(1)]))
        let done = Reply.success(.object([:]))

        var possibilities = Possibilities(of: scene.world)
        #expect(
            possibilities.account(for: [
                Exchange(one, from: anna, serial: 50, reply: stale), Exchange(two, from: anna, serial: 51, reply: done),
            ]) == [])
        #expect(possibilities.likeliest.groups[Scene.group]?.name == "two")

        possibilities = Possibilities(of: scene.world)
        #expect(
            possibilities.account(for: [
                Exchange(one, from: anna, serial: 50, reply: done), Exchange(two, from: anna, serial: 51, reply: done),
            ]) != [])
    }

    @Test("Values chosen by the server must not change, and a reply that breaks the rules is detected")
    mutating func choices() {
        var possibilities = Possibilities(of: scene.world)
        func check(_ number: Int, _ serial: Int) -> [String] {
            possibilities.account(for: [
                Exchange(
                    .checkCreds, from: anna, serial: serial, reply: .success(.object(["userId": .integer(number)])))
            ])
        }

        #expect(check(7, 50) == [])
        #expect(check(7, 51) == [])
        #expect(check(8, 52) != [])
    }

    @Test("An excused failure changes nothing")
    mutating func excuse() {
        var possibilities = Possibilities(of: scene.world)
        let failure = Refusal(502, "cloud_unavailable")
        let upload = scene.upload("a", "one")

        #expect(
            possibilities.account(for: [
                Exchange(upload, from: anna, serial: 50, reply: .refused(failure), excuses: [failure])
            ]) == [])
        #expect(possibilities.worlds == [scene.world])
        #expect(possibilities.account(for: [Exchange(upload, from: anna, serial: 51, reply: .refused(failure))]) != [])
    }

    @Test("When the last admin leaves, a member is promoted; those with storage have priority")
    mutating func succession() {
        scene.letIn(Scene.chris, .write)
        scene.letIn(Scene.ben, .read)
        var possibilities = Possibilities(of: scene.world)
        let leaving = Exchange(
            .removeUserFromSharingGroup(scene.here), from: anna, serial: 99, reply: .success(.object([:])))

        #expect(possibilities.account(for: [leaving]) == [])

        #expect(possibilities.likeliest.groups[Scene.group]?.members[Scene.ben]?.permission == .admin)
        #expect(possibilities.likeliest.groups[Scene.group]?.members[Scene.chris]?.permission == .write)
    }

    @Test("While the server moves files, its progress is unknown; the master version reveals the end")
    mutating func moved() {
        scene.ask(scene.upload("a", "zero"), Scene.anna)
        scene.ask(.doneUploads(scene.here, newName: nil, message: nil), Scene.anna)
        let next = Account(of: Scene.anna, number: 1, at: .dropbox)
        scene.ask(.confirmAccountSwitch(.init("S", at: 0, to: next, movesContents: true)), Scene.anna)
        func group(_ world: World?) -> Group? { world?.groups[Scene.group] }
        #expect(group(scene.world)?.files["a"]?.contentState == .moving)

        let versions = scene.world.afterMoves.map { group($0)?.masterVersion }

        #expect(versions == [scene.masterVersion, scene.masterVersion + 1])
        #expect(group(scene.world.afterMoves.last)?.files["a"]?.contentState == .stored)
    }
}

/// A few people and a shorthand for their requests; every reply is the one that the model predicts.
private struct Scene {
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
    mutating func ask(_ request: Request, _ person: Person) -> Answer {
        serial += 1
        return world.respond(to: request, from: Caller(person, on: "1"), as: serial)
    }

    /// Adds `person` to the group, with an invitation from Anna and an invented code.
    mutating func letIn(_ person: Person, _ permission: Permission) {
        var possibilities = Possibilities(of: world)
        let code = "code \(serial)"
        let invite = Request.createSharingInvitation(
            group: Self.group, permission, allowsSocial: true, acceptors: 1)
        let reply = Reply.success(.object(["sharingInvitationUUID": .text(code)]))
        let exchange = Exchange(invite, from: Caller(Self.anna, on: "1"), serial: 1_000 + serial, reply: reply)
        #expect(possibilities.account(for: [exchange]) == [])
        world = possibilities.likeliest
        ask(.redeemSharingInvitation(code: code, folder: "F"), person)
        #expect(world.groups[Self.group]?.members[person] != nil)
    }

    /// Uploads a new file at the current master version.
    func upload(_ file: String, _ text: String) -> Request {
        let content = Content(bytes: Array(text.utf8), checkSums: ["Google": text, "Dropbox": "D" + text])
        return .uploadFile(
            Request.Upload(
                file, in: here, version: 0, mimeType: "text/plain", content: content, checkSum: text))
    }
}
