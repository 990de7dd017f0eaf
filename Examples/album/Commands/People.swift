import ArgumentParser
import Foundation
import SyncAccounts
import SyncClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// `album sign-in`.
struct SignIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in", abstract: "Makes a device that of a person of the sandbox.",
        discussion: "Prints the person's account, with which a second device of theirs signs in.")

    @OptionGroup var options: DeviceOptions

    @Option(help: "Where the server answers.")
    var server: String

    @Option(help: "The sandbox's control interface.")
    var sandbox: String

    @Option(help: "The name of a new person.")
    var person: String?

    @Option(help: "The account of a person who has one already.")
    var account: String?

    func validate() throws {
        guard (person == nil) != (account == nil) else { throw ValidationError("Give --person or --account.") }
        guard URL(string: server)?.host() != nil else { throw ValidationError("--server is no address.") }
        guard URL(string: sandbox)?.host() != nil else { throw ValidationError("--sandbox is no address.") }
    }

    private struct Person: Codable {
        var id: String
        var name: String
    }

    func run() async throws {
        guard let server = URL(string: server), let sandbox = URL(string: sandbox) else { return }
        var request = URLRequest(url: sandbox.appending(path: "sandbox/accounts"))
        if let account {
            request.url?.append(path: account)
        } else {
            request.httpMethod = "POST"
            request.httpBody = try JSONEncoder().encode(["provider": "google", "name": person])
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        guard let reply = try? await ProviderTransport.system().send(request) else {
            throw AlbumError.noSandbox(sandbox)
        }
        guard let person = try? JSONDecoder().decode(Person.self, from: reply.body) else {
            throw AlbumError.unknownPerson(account ?? person ?? "")
        }
        let former = try? Settings(options.folder)
        let settings = Settings(server: server, sandbox: sandbox, accountID: person.id, person: person.name)
        try await options.withDevice(settings) { device in
            switch try await device.client.checkForExistingUser() {
            // Also brings the list of albums to a second device.
            case .user: try await device.client.synced()
            case .noUser:
                guard device.client.syncServerUserID == nil || former?.accountID == person.id else {
                    throw AlbumError.otherPerson
                }
            }
        }
        // Only now: whoever was signed in before still is if something fails.
        try settings.save(in: options.folder)
        print(person.id)
    }
}

/// `album create`.
struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Makes an album.")

    @OptionGroup var options: DeviceOptions

    @Argument(help: "The album's name.")
    var name: String

    @Flag(help: "Also if you are in an album of this name already.")
    var another = false

    func run() async throws {
        guard let group = SharingGroupUUID(UUID().uuidString) else { return }
        try await options.withDevice { device in
            switch try await device.client.checkForExistingUser() {
            case .noUser: try await device.client.addUser(sharingGroupUUID: group, sharingGroupName: name)
            case .user:
                let groups = device.client.sharingGroups
                if !another, let namesake = groups.first(where: { $0.sharingGroupName == name }) {
                    throw AlbumError.albumExists(AlbumOptions.line(namesake, among: groups))
                }
                try device.turn(to: group)
                try device.client.createSharingGroup(sharingGroupUUID: group, sharingGroupName: name)
                try await device.client.synced(sharingGroupUUID: group)
            }
        }
        print("You have an album \(printable(name)).")
    }
}

/// `album invite`.
struct Invite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Prints a code that lets somebody else join an album.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    func run() async throws {
        let code = try await options.withDevice { device in
            try await device.client.createSharingInvitation(
                withPermission: .write, sharingGroupUUID: album.group(device))
        }
        print(code.rawValue)
    }
}

/// `album join`.
struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Joins the album of an invitation.")

    @OptionGroup var options: DeviceOptions

    @Argument(help: "The invitation's code.")
    var code: String

    func run() async throws {
        guard let invitation = SharingInvitationUUID(code) else { throw AlbumError.notAnInvitation }
        try await options.withDevice { device in
            let group = try await device.client.redeemSharingInvitation(invitationCode: invitation)
            try await device.client.synced()
            let name = device.client.sharingGroups.first { $0.sharingGroupUUID == group }?.sharingGroupName
            print("You are in \(printable(name ?? "an album")).")
        }
    }
}

/// `album albums`.
struct Albums: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Lists the albums that you are in: something to tell them apart, and their names.")

    @OptionGroup var options: DeviceOptions

    func run() async throws {
        try await options.withDevice { device in
            let groups = device.client.sharingGroups
            for group in groups { print(AlbumOptions.line(group, among: groups)) }
        }
    }
}
