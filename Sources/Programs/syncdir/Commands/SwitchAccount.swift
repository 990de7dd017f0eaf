import ArgumentParser
import Foundation
import SyncClient
import SyncDirectory

/// `syncdir switch-account`.
struct SwitchAccount: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch-account",
        abstract: "Replaces a former account of yours with the one that is signed in now.",
        discussion: """
            First sign in with the new account: syncdir sign-in. You stay the same person, with your groups and the \
            versions of all files; the files are uploaded again from the directory, which was synchronized with the \
            former account. If it is interrupted, the same command continues. Directories of your other groups \
            upload their files when they are synchronized.

            If you can still use the former account, the server can move the files: sign in with the new account \
            under another name (syncdir sign-in --account new), and specify the former one with --move-from.

            If another person has switched your account, sign in with your own once more, and undo the switch within \
            two weeks with --undo.
            """)

    enum Missing: String, CaseIterable, ExpressibleByArgument {
        case keep, delete
    }

    @OptionGroup var options: CommonOptions

    @Argument(help: "A directory of yours.", completion: .directory)
    var directory = "."

    @Option(
        help: ArgumentHelp(
            "Let the server move the files: the name under which the former account is signed in.",
            valueName: "name"))
    var moveFrom: String?

    @Flag(help: "Do not ask before the switch.")
    var yes = false

    @Flag(help: "Cancel an unconfirmed switch.")
    var cancel = false

    @Flag(help: "Undo a switch away from the account that is signed in now, if another person made it.")
    var undo = false

    @Option(
        help: ArgumentHelp(
            "End the switch although files still wait: keep them, out of reach, or delete them for everybody.",
            valueName: "keep|delete"))
    var giveUp: Missing?

    @OptionGroup var transfer: TransferOptions

    func validate() throws {
        guard [cancel, giveUp != nil, undo].count(where: { $0 }) < 2 else {
            throw ValidationError("Use only one of --cancel, --undo and --give-up.")
        }
        guard moveFrom == nil || !(cancel || undo || giveUp != nil) else {
            throw ValidationError("--move-from cannot be combined with --cancel, --undo or --give-up.")
        }
        guard moveFrom != options.account else {
            throw ValidationError("--move-from names the former account, --account the new one.")
        }
        guard !options.json || yes || cancel || undo || giveUp != nil else {
            throw ValidationError("--json cannot ask for confirmation: add --yes.")
        }
    }

    func run() async throws {
        let session = try Session(options)
        var former: Credentials?
        if let moveFrom { former = try await session.freshCredentials(ofAccount: moveFrom) }
        let directory = try await OpenDirectory(
            session, path: directory, group: nil, maximumTransfers: transfer.transfers)
        let result: AccountSwitchResult
        do { result = try await perform(in: directory, movingFrom: former) } catch {
            await directory.close()
            throw error
        }
        await directory.close()
        Output.write(result, result.text, asJSON: options.json)
        if result.state == .uploading { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func perform(
        in directory: OpenDirectory, movingFrom former: Credentials?
    ) async throws -> AccountSwitchResult {
        let server = directory.server
        if cancel {
            try await server.cancelAccountSwitch()
            return AccountSwitchResult(state: .cancelled)
        }
        if undo {
            try await server.undoAccountSwitch()
            var result = try await upload(from: directory)
            if result.state == .finished { result.state = .undone }
            return result
        }
        if let giveUp {
            try await server.finishAccountSwitch(missing: giveUp == .keep ? .keepGone : .markDeleted)
            return AccountSwitchResult(state: .finished)
        }
        switch server.accountSwitch?.phase {
        case .reuploading: break
        case .confirming: try await confirm(server, movingFrom: former)
        case .proposed, nil:
            guard try await server.checkForExistingUser() == .noUser else {
                return AccountSwitchResult(state: .notNeeded)
            }
            let proposal = try await server.proposeAccountSwitch(provingOldAccount: former)
            if !options.json { Output.note(Self.text(proposal, isMoved: former != nil)) }
            guard yes || Self.isConfirmed() else {
                try await server.cancelAccountSwitch()
                return AccountSwitchResult(state: .cancelled)
            }
            try await confirm(server, movingFrom: former)
        }
        return try await upload(from: directory)
    }

    private func confirm(_ server: SyncServer, movingFrom former: Credentials?) async throws {
        guard let former else {
            try await server.confirmAccountSwitch()
            return
        }
        let isMoving = try await server.confirmAccountSwitch(movingContentsFrom: former)
        if !isMoving, !options.json {
            Output.note("The server does not move the files; they are uploaded from here.")
        }
    }

    /// The consequences of the switch, shown before confirmation.
    private static func text(_ proposal: SyncServer.AccountSwitchProposal, isMoved: Bool) -> String {
        let size = ByteCountFormatStyle(style: .file, locale: Locale(identifier: "en_US"))
            .format(proposal.approximateBytes)
        var lines = [
            "From \(proposal.fromAccountType.rawValue) to \(proposal.toAccountType.rawValue):",
            isMoved
                ? "- The server moves \(proposal.numberOfFiles) files, about \(size); others are uploaded from here."
                : "- \(proposal.numberOfFiles) files, about \(size), are uploaded again; that may cost money.",
            "- Your other devices and directories must sign in with the new account.",
            "- The files in the former storage stay there.",
            "- Until they are uploaded, others may not be able to fetch some files.",
        ]
        if !proposal.hostedUsers.isEmpty {
            let names = proposal.hostedUsers.map(Output.printable).joined(separator: ", ")
            lines.append("- Files of \(names), which are in your storage, are moved as well.")
        }
        if !proposal.unavailableFiles.isEmpty {
            lines.append("- These files are missing here, or changed, and cannot be uploaded from this directory:")
            lines += proposal.unavailableFiles.map {
                "    " + Output.printable(DirectorySynchronizer.described($0) ?? $0.fileUUID.rawValue)
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Asks on standard error; only `yes` confirms.
    private static func isConfirmed() -> Bool {
        Output.note("Switch? Type yes:")
        return readLine() == "yes"
    }

    private func upload(from directory: OpenDirectory) async throws -> AccountSwitchResult {
        let server = directory.server
        let events = server.events([.accountSwitchProgress])
        let asJSON = options.json
        let display = Task {
            for await case .accountSwitchProgress(let done, let total, _) in events where !asJSON {
                Output.note("\(done) of \(total) uploaded")
            }
        }
        defer { display.cancel() }
        let move = try await server.accountSwitchServerMove()
        try server.resumeAccountSwitch()
        // Also sends later changes: a new version replaces the upload of the former one.
        for _ in 0..<SyncCommand.maximumRounds {
            let round = try await directory.synchronizer.perform()
            guard round.hasMore else { break }
            if round.shouldPause { try await Task.sleep(for: .milliseconds(150)) }
        }
        let progress = server.accountSwitch
        var result = AccountSwitchResult(state: .finished)
        result.serverMove = move.map { .init($0) }
        if progress != nil {
            do throws(SyncError) { result.waiting = try await server.settleAccountSwitch() } catch {
                // The library has already ended the switch.
                guard error.code == .noAccountSwitch else { throw error }
            }
        }
        guard result.waiting > 0, let progress else { return result }
        result.state = move?.state == .moving ? .moving : .uploading
        for file in progress.unavailable + progress.superseded + progress.failed {
            result.notHere.append(await directory.synchronizer.path(of: file) ?? file.rawValue)
        }
        return result
    }
}

/// The output of `syncdir switch-account`.
struct AccountSwitchResult: Encodable {
    enum State: String, Encodable {
        /// The server already knows the account: there is nothing to switch.
        case notNeeded
        case cancelled
        /// The account belongs to the person again, and no file waits.
        case undone
        /// The server moves files; nothing remains to be done here.
        case moving
        /// Files still wait.
        case uploading
        case finished
    }

    var state: State
    /// The number of files that still wait, in all groups.
    var waiting = 0
    /// This directory's files that could not be uploaded from it.
    var notHere: [String] = []
    /// The server's own part; nil if it moves no files.
    var serverMove: ServerMove?

    /// The server's progress.
    struct ServerMove: Encodable {
        let state: String
        let numberMoved: Int
        let bytesMoved: Int64
        let numberFailed: Int

        init(_ move: SyncServer.ServerMove) {
            state = "\(move.state)"
            numberMoved = move.numberMoved
            bytesMoved = move.bytesMoved
            numberFailed = move.numberFailed
        }
    }

    init(state: State) { self.state = state }

    /// For people.
    var text: String {
        switch state {
        case .notNeeded: return "This account is already yours; there is nothing to switch."
        case .cancelled: return "Nothing was switched."
        case .undone:
            return "The switch is undone: the account is yours again. If you do not know how this happened, change the"
                + " account's password."
        case .finished: return "You have switched accounts; no files are waiting."
        case .moving:
            return "The server moves the files: \(serverMove?.numberMoved ?? 0) moved, \(waiting) still wait."
                + " Repeat this command to see its progress."
        case .uploading:
            let files = notHere.map { "not uploaded from here: \(Output.printable($0))" }
            return
                (files + [
                    "\(waiting) files still wait. Synchronize the directories that have them, then repeat this command;"
                        + " or end the switch without them: --give-up keep, or delete."
                ]).joined(separator: "\n")
        }
    }
}
