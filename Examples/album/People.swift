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
        commandName: "sign-in", abstract: "Signs a person of the sandbox in on a device.",
        discussion: "Prints the person's account, for signing in on a second device.")

    @OptionGroup var options: DeviceOptions

    @Option(help: "The server's address.")
    var server: String

    @Option(help: "The sandbox's control interface.")
    var sandbox: String

    @Option(help: "The name of a new person.")
    var person: String?

    @Option(help: "The account of an existing person.")
    var account: String?

    func validate() throws {
        guard (person == nil) != (account == nil) else { throw ValidationError("Specify --person or --account.") }
        guard URL(string: server)?.host() != nil else { throw ValidationError("--server is not an address.") }
        guard URL(string: sandbox)?.host() != nil else { throw ValidationError("--sandbox is not an address.") }
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
            // Also fetches the list of albums on a second device.
            case .user: try await device.client.synced()
            case .noUser:
                guard device.client.syncServerUserID == nil || former?.accountID == person.id else {
                    throw AlbumError.otherPerson
                }
            }
        }
        // Last, so that a failure leaves the previous person signed in.
        try settings.save(in: options.folder)
        print(person.id)
    }
}

/// `album create`.
struct Create: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Creates an album.")

    @OptionGroup var options: DeviceOptions

    @Argument(help: "The album's name.")
    var name: String

    @Flag(help: "Create it even if you already have an album of this name.")
    var another = false

    func run() async throws {
        let group = SharingGroupUUID()
        try await options.withDevice { device in
            switch try await device.client.checkForExistingUser() {
            case .noUser: try await device.client.addUser(sharingGroupUUID: group, sharingGroupName: name)
            case .user:
                let groups = device.client.sharingGroups
                if !another, let namesake = groups.first(where: { $0.sharingGroupName == name }) {
                    throw AlbumError.albumExists(AlbumOptions.line(namesake, among: groups))
                }
                try device.client.createSharingGroup(sharingGroupUUID: group, sharingGroupName: name)
                try await device.client.synced(sharingGroupUUID: group)
            }
        }
        print("You have an album \(printable(name)).")
    }
}

/// `album invite`.
struct Invite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Prints a code that lets another person join an album.")

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

/// `album members`.
struct Members: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the people in an album, and what they may do.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    func run() async throws {
        try await options.withDevice { device in
            for member in try await device.client.members(of: album.group(device)) {
                print("\(printable(member.name))  \(member.permission.rawValue)\(member.isOwnUser ? "  (you)" : "")")
            }
        }
    }
}

/// `album invitation`.
struct Invitation: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows who invites to which album, before you join.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var code: CodeArgument

    func run() async throws {
        let code = try code.invitation()
        let info = try await options.withDevice { device in
            try await device.client.getSharingInvitationInfo(invitationCode: code)
        }
        guard case .invitation(let offer) = info else { throw AlbumError.invitationGone }
        let album = offer.sharingGroupName.map { "the album \(printable($0))" } ?? "an album"
        let rights = offer.permission.allows(.write) ? "add and remove photos" : "look at the photos"
        print("\(printable(offer.invitingUserName ?? "Somebody")) invites you to \(album), where you may \(rights).")
    }
}

/// The code of an invitation.
struct CodeArgument: ParsableArguments {
    @Argument(help: "The invitation code.")
    var code: String

    func invitation() throws -> SharingInvitationUUID {
        guard let invitation = SharingInvitationUUID(code) else { throw AlbumError.notAnInvitation }
        return invitation
    }
}

/// `album join`.
struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Joins an album with an invitation code.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var code: CodeArgument

    func run() async throws {
        let invitation = try code.invitation()
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
        abstract: "Lists your albums: an identifier and the name of each.")

    @OptionGroup var options: DeviceOptions

    func run() async throws {
        try await options.withDevice { device in
            let groups = device.client.sharingGroups
            for group in groups { print(AlbumOptions.line(group, among: groups)) }
        }
    }
}
