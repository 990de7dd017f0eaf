import ArgumentParser
import Foundation
import SyncClient

/// `syncdir create-group`.
struct CreateGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-group", abstract: "Creates a sharing group; the first one also registers you.")

    @OptionGroup var options: CommonOptions

    @Argument(help: "The group's name.")
    var name: String

    @Flag(help: "Create it even if you are already in a group of this name.")
    var another = false

    func run() async throws {
        guard let uuid = SharingGroupUUID(UUID().uuidString) else { return }
        try await Session(options).withServer { server in
            switch try await server.checkForExistingUser() {
            case .noUser: try await server.addUser(sharingGroupUUID: uuid, sharingGroupName: name)
            case .user:
                let namesake = server.sharingGroups.first { $0.sharingGroupName == name }
                if let namesake, !another {
                    throw Failure(
                        .failed,
                        "you are already in a group \(Output.printable(name)): \(namesake.sharingGroupUUID.rawValue); "
                            + "add --another to create a second one of this name")
                }
                try server.createSharingGroup(sharingGroupUUID: uuid, sharingGroupName: name)
                try await server.synced(sharingGroupUUID: uuid)
            }
        }
        Output.write(["group": uuid.rawValue, "name": name], uuid.rawValue, asJSON: options.json)
    }
}

/// `syncdir invite`.
struct Invite: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Creates an invitation to a group; it is valid for a day.")

    enum Allowance: String, CaseIterable, ExpressibleByArgument {
        case read, write, admin

        var permission: Permission {
            switch self {
            case .read: .read
            case .write: .write
            case .admin: .admin
            }
        }
    }

    @OptionGroup var options: CommonOptions

    @Argument(help: "The group's name or UUID, or the beginning of its UUID.")
    var group: String

    @Option(help: "The permission of people who accept.")
    var permission = Allowance.write

    @Option(help: ArgumentHelp("How many people may accept, 1 to 10.", valueName: "number"))
    var people = 1

    @Flag(help: "Only for accounts that include storage.")
    var ownersOnly = false

    func validate() throws {
        guard (1...10).contains(people) else { throw ValidationError("--people must be from 1 to 10.") }
    }

    func run() async throws {
        let code = try await Session(options).withServer { server in
            try await server.synced()
            let group = try Session.group(group, of: server.sharingGroups)
            return try await server.createSharingInvitation(
                withPermission: permission.permission, sharingGroupUUID: group.sharingGroupUUID,
                numberAcceptors: people, allowSharingAcceptance: !ownersOnly)
        }
        Output.write(["code": code.rawValue], code.rawValue, asJSON: options.json)
    }
}

/// `syncdir join`.
struct Join: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Accepts an invitation.")

    @OptionGroup var options: CommonOptions

    @Argument(help: "The invitation code.")
    var code: String

    func run() async throws {
        guard let invitation = SharingInvitationUUID(code) else {
            throw Failure(.failed, "that is not an invitation code")
        }
        let group = try await Session(options).withServer {
            try await $0.redeemSharingInvitation(invitationCode: invitation)
        }
        Output.write(["group": group.rawValue], group.rawValue, asJSON: options.json)
    }
}

/// `syncdir groups`.
struct Groups: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists your groups.")

    @OptionGroup var options: CommonOptions

    private struct Line: Encodable {
        var group: String
        var name: String?
        var permission: String
    }

    func run() async throws {
        let groups = try await Session(options).withServer { server in
            try await server.synced()
            return server.sharingGroups
        }
        let lines = groups.map {
            Line(group: $0.sharingGroupUUID.rawValue, name: $0.sharingGroupName, permission: "\($0.permission)")
        }
        let text = lines.map { line in
            let permission = line.permission.padding(toLength: 5, withPad: " ", startingAt: 0)
            return "\(line.group)  \(permission)  \(Output.printable(line.name ?? ""))"
        }
        Output.write(["groups": lines], text.joined(separator: "\n"), asJSON: options.json)
    }
}
