import Foundation
import TestSupport
import Testing

@Suite("AddUser")
struct AddUserTests {
    let server: TestServer

    init() throws { server = try TestServer.shared() }

    @Test("A new owning user gets an id and exists under it [49] [50]")
    func newUser() throws {
        let alice = try server.signUpOwningUser()

        let reply = try alice.checkCredentials()

        #expect(alice.userID > 0)
        #expect(reply.json?.userId?.integer == alice.userID)
    }

    @Test("The user's files are stored in the requested folder [50]")
    func folder() throws {
        let alice = try server.signUpOwningUser(folder: "Ali's Photos & \\more")
        let file = TestFile()

        try alice.publish(file, masterVersion: 0)

        let stored = try alice.stored(file)
        #expect(stored.map(\.name) == [file.cloudName(device: alice.device)])
        #expect(stored.first?.folder.contains("Ali's Photos & \\more") == true)
    }

    @Test("The configured warning file appears in the user's storage [51]")
    func initialFile() async throws {
        let configuration = try InitialFile(of: server)
        let alice = try server.signUpOwningUser()

        try await eventually("the warning file exists") {
            try server.sandbox.files(of: alice.account).contains { $0.name == configuration.name }
        }
        let contents = try server.sandbox.contents(of: configuration.name, in: alice.account)
        #expect(contents.map { String(decoding: $0, as: UTF8.self) } == configuration.contents)
    }

    @Test("An existing file of that name is not overwritten [67] [F38]")
    func initialFileExists() async throws {
        let configuration = try InitialFile(of: server)
        let early = try server.newcomer()
        let own = Array("my own".utf8)
        try server.sandbox.store(own, as: configuration.name, in: early.account, folder: early.folder)

        let reply = try early.call(
            "POST", "AddUser", ["sharingGroupUUID": early.group, "cloudFolderName": early.folder])
        expectJSON(reply)

        let later = try server.signUpOwningUser()
        try await eventually("a later user's warning file exists") {
            try server.sandbox.files(of: later.account).contains { $0.name == configuration.name }
        }
        #expect(try server.sandbox.contents(of: configuration.name, in: early.account) == own)
    }

    @Test("The first group has the requested name [52]", arguments: ["Family", "Tom & Jerry + 100%", "Zoë's 🐱"])
    func groupName(name: String) throws {
        let alice = try server.signUpOwningUser(groupName: name)

        let groups = try alice.groups().groups

        #expect(groups.count == 1)
        #expect(groups.first?.sharingGroupUUID?.text == alice.group)
        #expect(groups.first?.sharingGroupName?.text == name)
        #expect(groups.first?.deleted?.bool == false)
    }

    @Test("Without a name in the request, the group has none [53]")
    func noGroupName() throws {
        let alice = try server.signUpOwningUser()

        #expect(try alice.groups().group(alice.group)?.names.contains("sharingGroupName") == false)
    }

    @Test("A second AddUser is rejected, with and without parameters [54]")
    func existingUser() throws {
        let alice = try server.signUpOwningUser()

        expectError(try alice.call("POST", "AddUser"), 400, 409)
        expectError(
            try alice.call(
                "POST", "AddUser", ["sharingGroupUUID": UUID().uuidString, "cloudFolderName": alice.folder]), 409)
        #expect(try alice.groups().groups.count == 1)
    }

    @Test("An AddUser repeated after a lost reply returns the same id")
    func repeated() throws {
        let alice = try server.signUpOwningUser(groupName: "Once")

        let reply = try alice.call(
            "POST", "AddUser",
            ["sharingGroupUUID": alice.group, "sharingGroupName": "Once", "cloudFolderName": alice.folder])

        expectJSON(reply)
        #expect(reply.json?.userId?.integer == alice.userID)
        #expect(try alice.groups().groups.count == 1)
    }

    @Test("Two simultaneous identical AddUser requests create one user")
    func simultaneous() async throws {
        let alice = try server.newcomer()
        let parameters: [String: String?] = ["sharingGroupUUID": alice.group, "cloudFolderName": alice.folder]

        let replies = try await Threads.run(2) { _ in try alice.call("POST", "AddUser", parameters) }

        #expect(replies.contains { $0.status == 200 })
        #expect(replies.allSatisfy { [200, 409, 429].contains($0.status) }, "\(replies)")
        #expect(Set(replies.compactMap { $0.json?.userId?.integer }).count == 1)
        #expect(try alice.groups().groups.count == 1)
    }

    @Test("A UUID of another user's group is rejected, and no user is left behind [66]")
    func groupExists() throws {
        let alice = try server.signUpOwningUser()
        let mallory = try server.newcomer(name: "Mallory")

        let reply = try mallory.call(
            "POST", "AddUser", ["sharingGroupUUID": alice.group, "cloudFolderName": "F"])

        expectError(reply, 409)
        expectError(try mallory.checkCredentials(), 401)
    }

    @Test("A Google user must specify a folder [64]")
    func folderMissing() throws {
        let alice = try server.newcomer()

        expectError(try alice.call("POST", "AddUser", ["sharingGroupUUID": alice.group]), 400)
        expectError(try alice.checkCredentials(), 401)
    }

    @Test("A Facebook account cannot sign up without an invitation [65]")
    func sharingAccount() throws {
        let bob = try server.newcomer(.facebook)

        expectError(
            try bob.call("POST", "AddUser", ["sharingGroupUUID": bob.group, "cloudFolderName": "F"]), 400, 409)
        expectError(try bob.checkCredentials(), 401)
    }

    @Test(
        "Names with apostrophes, quotes and emoji are stored unchanged [68] [F1]",
        arguments: ["Conan O'Brien", "a\"b\\c'--", "李 🐱"])
    func names(name: String) throws {
        let alice = try server.signUpOwningUser(name: name)

        let users = try alice.groups().group(alice.group)?.sharingGroupUsers?.array

        #expect(users?.map { $0.name?.text } == [name])
    }
}

/// The warning file in the stack's configuration.
struct InitialFile {
    let name: String
    let contents: String

    init(of server: TestServer) throws {
        let path = try server.environment.value("CONFIG_FILE")
        let json = try #require(JSONValue(try Data(contentsOf: URL(filePath: path))))
        let section = json.owningUserAccountCreation
        name = try #require((section?.initialFileName ?? json["owningUserAccountCreation.initialFileName"])?.text)
        contents = try #require(
            (section?.initialFileContents ?? json["owningUserAccountCreation.initialFileContents"])?.text)
    }
}
