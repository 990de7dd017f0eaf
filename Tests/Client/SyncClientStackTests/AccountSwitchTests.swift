import Foundation
import SyncClient
import Synchronization
import TestSupport
import Testing

@Suite("Switching accounts with the library")
struct AccountSwitchTests {
    /// For background work while all other tests run.
    private static let patience = Duration.seconds(180)

    let server: TestServer

    init() throws { server = try TestServer.shared() }

    /// A phone with published files, whose app has their contents.
    private func phone(_ texts: String...) async throws -> (phone: Device, files: [FileUUID]) {
        let phone = try await Device.signedUp(server)
        var files: [FileUUID] = []
        for text in texts {
            let file = try await phone.publish(text)
            try keep(text, as: file, on: phone)
            files.append(file)
        }
        return (phone, files)
    }

    private func keep(_ text: String, as file: FileUUID, on device: Device) throws {
        let location = try device.file(Data(text.utf8))
        device.app.change { $0.contents[file] = .file(location) }
    }

    private func switched(_ device: Device) async throws {
        try await eventually("the switch is over", within: Self.patience) { device.client.accountSwitch == nil }
        await device.client.stopped()
    }

    @Test("Google to Dropbox: all files are uploaded again with unchanged versions, and syncs continue")
    func wholeSwitch() async throws {
        let (phone, files) = try await phone("one", "two")
        try await phone.publish("one and more", as: files[0])
        try keep("one and more", as: files[0], on: phone)
        let before = try files.map { try phone.row($0) }
        let account = try server.newcomer(.dropbox).account
        phone.credentials.signIn(account)
        #expect(try await phone.client.checkForExistingUser() == .noUser)

        let proposal = try await phone.client.proposeAccountSwitch()
        #expect(proposal.numberOfFiles == 2 && proposal.approximateBytes == 15 && proposal.hostedUsers.isEmpty)
        #expect(proposal.fromAccountType == .google && proposal.toAccountType == .dropbox)
        #expect(proposal.unavailableFiles.isEmpty)
        #expect(phone.client.accountSwitch?.phase == .proposed)
        let events = try await phone.events([.accountSwitchProgress, .accountSwitchFinished]) {
            try await phone.client.confirmAccountSwitch()
            try await switched(phone)
        }

        #expect(events.last == .accountSwitchFinished)
        #expect(events.contains(.accountSwitchProgress(done: 2, total: 2, bytes: 15)), "\(events)")
        let user = phone.user.with(account: account)
        let index = try user.index(of: phone.group.rawValue)
        for (file, old) in zip(files, before) {
            let row = index.files.first { $0.fileUUID?.text == file.rawValue }
            #expect(row?.fileVersion == old?.fileVersion && row?.cloudStorageType?.text == "Dropbox")
            #expect(row?.awaitingReupload == nil && row?.deleted?.bool == false)
        }
        #expect(try server.sandbox.files(of: account).filter { $0.name.hasPrefix(files[0].rawValue) }.count == 1)
        #expect(phone.app.taken.isEmpty, "files that the device has are not downloaded")
        try await phone.publish("three", as: files[1])
        #expect(try phone.client.getAttributes(forFileUUID: files[1]).awaitingReupload == false)
        #expect(try phone.leftovers().isEmpty)
    }

    @Test("Another device is signed out, keeps its queue, and continues with the new account")
    func anotherDevice() async throws {
        let (phone, files) = try await phone("one")
        let tablet = try await phone.another()
        _ = try await tablet.received()
        let account = try server.newcomer(.dropbox).account
        phone.credentials.signIn(account)
        _ = try await phone.client.proposeAccountSwitch()
        try await phone.client.confirmAccountSwitch()
        try await switched(phone)
        let new = try tablet.upload("from the tablet")

        let error = await #expect(throws: SyncError.self) { try await tablet.sync() }
        #expect(error?.code == .signedOutRemotely && error?.activeAccountType == .dropbox)
        #expect(await refusal { try await tablet.client.checkForExistingUser() } == .signedOutRemotely)
        #expect(tablet.client.uploadsPending)
        #expect(try tablet.client.getAttributes(forFileUUID: files[0]).gone == nil)

        tablet.credentials.signIn(account)
        tablet.app.forget()
        try await tablet.sync()
        #expect(!tablet.client.uploadsPending && tablet.app.taken.isEmpty)
        #expect(try await phone.received().map(\.attributes.fileUUID) == [new])
    }

    @Test("Friends see waiting files as waiting, never as deleted, and receive them without doing anything")
    func friend() async throws {
        let (phone, files) = try await phone("one", "two")
        let friend = try await phone.invited(.microsoft)
        _ = try await friend.received()
        let location = phone.app.state.withLock { $0.contents.removeValue(forKey: files[0]) }
        phone.credentials.signIn(try server.newcomer(.dropbox).account)
        let proposal = try await phone.client.proposeAccountSwitch()
        #expect(proposal.unavailableFiles.map(\.fileUUID) == [files[0]])
        try await phone.client.confirmAccountSwitch()
        try await eventually("the other file is uploaded", within: Self.patience) {
            // A stop would cancel the upload.
            phone.client.accountSwitch?.unavailable == [files[0]] && phone.client.accountSwitch?.done == 1
        }
        await phone.client.stopped()
        #expect(phone.client.accountSwitch?.done == 1 && phone.client.accountSwitch?.total == 2)

        let other = try await friend.another()
        #expect(try await friend.received().isEmpty)
        #expect(try friend.client.getAttributes(forFileUUID: files[0]).awaitingReupload)
        let received = try await other.received()
        #expect(Set(received.map(\.kind)) == [.gone, .file])
        let waiting = received.first { $0.kind == .gone }?.attributes
        #expect(waiting?.fileUUID == files[0] && waiting?.awaitingReupload == true)
        #expect(try await other.received().isEmpty)

        phone.app.change { $0.contents[files[0]] = location }
        try phone.client.resumeAccountSwitch()
        try await switched(phone)
        #expect(try await other.received().map(\.text) == ["one"])
        #expect(try await friend.received().isEmpty)
        #expect(try !friend.client.getAttributes(forFileUUID: files[0]).awaitingReupload)
    }

    @Test("A lost reply to the confirmation and the end of the process change nothing")
    func interrupted() async throws {
        let (phone, files) = try await phone("one", "two")
        let account = try server.newcomer(.dropbox).account
        phone.credentials.signIn(account)
        _ = try await phone.client.proposeAccountSwitch()
        phone.executor.decide { endpoint, _ in endpoint == "ConfirmAccountSwitch" ? .losesReply : .passes }
        #expect(await refusal { try await phone.client.confirmAccountSwitch() } == .networkError)

        let again = try await phone.relaunched()
        again.credentials.signIn(account)
        #expect(again.client.accountSwitch?.phase == .confirming)
        try await again.client.confirmAccountSwitch()
        await again.client.stopped()
        // The sync stops before anything is uploaded, and the process ends.
        let last = try await again.relaunched()
        last.credentials.signIn(account)
        for (file, text) in zip(files, ["one", "two"]) { try keep(text, as: file, on: last) }
        try last.client.resumeAccountSwitch()
        try await switched(last)

        #expect(try phone.user.with(account: account).index(of: phone.group.rawValue).files.count == 2)
        #expect(last.client.logAllTracking().violations.isEmpty)
        #expect(last.client.files(inSharingGroup: last.group).allSatisfy { $0.gone == nil && !$0.awaitingReupload })
    }

    @Test("A file that nobody has is given up: it stays unavailable, or is deleted for all", arguments: [true, false])
    func givenUp(keeps: Bool) async throws {
        let (phone, files) = try await phone("one")
        let friend = try await phone.invited(.microsoft)
        phone.app.change { $0.contents = [:] }
        phone.credentials.signIn(try server.newcomer(.dropbox).account)
        _ = try await phone.client.proposeAccountSwitch()
        try await phone.client.confirmAccountSwitch()
        try await eventually("the file is requested", within: Self.patience) {
            phone.client.accountSwitch?.unavailable == files
        }
        await phone.client.stopped()
        #expect(try await phone.client.settleAccountSwitch() == 1)
        #expect(try await friend.received().map(\.kind) == [.gone])

        try await phone.client.finishAccountSwitch(missing: keeps ? .keepGone : .markDeleted)

        #expect(phone.client.accountSwitch == nil)
        let received = try await friend.received()
        #expect(received.map(\.kind) == [keeps ? .gone : .deletion])
        #expect(received.first?.attributes.gone == (keeps ? .fileRemovedOrRenamed : nil))
        #expect(try await friend.received().isEmpty)
    }

    @Test(
        "Files missing on this device come from the user's other device, or from a friend who helps",
        arguments: [true, false])
    func helpers(isFriend: Bool) async throws {
        let (phone, files) = try await phone("one")
        var helper = try await isFriend ? phone.invited(.microsoft) : phone.another()
        _ = try await helper.received()
        phone.app.change { $0.contents = [:] }
        let account = try server.newcomer(.dropbox).account
        phone.credentials.signIn(account)
        _ = try await phone.client.proposeAccountSwitch()
        try await phone.client.confirmAccountSwitch()
        try await eventually("the file is requested", within: Self.patience) {
            phone.client.accountSwitch?.unavailable == files
        }
        await phone.client.stopped()

        if isFriend {
            try await helper.sync()
            #expect(helper.app.askedFor.isEmpty, "friends upload only if configured to, since it uses their network")
            helper = try await helper.relaunched { $0.reuploadsForOthers = true }
        } else {
            helper.credentials.signIn(account)
        }
        try keep("one", as: files[0], on: helper)
        try await helper.sync()
        try await phone.sync()

        try await switched(phone)
        #expect(try server.sandbox.files(of: account).contains { $0.name.hasPrefix(files[0].rawValue) })
    }

    @Test("While the server moves the files, devices leave them alone; they upload only what it could not move")
    func serverMoves() async throws {
        let (phone, files) = try await phone("one", "two", "three")
        let tablet = try await phone.another()
        _ = try await tablet.received()
        let old = phone.user.account
        let changed = try server.sandbox.files(of: old).first { $0.name.hasPrefix(files[1].rawValue) }
        try server.sandbox.store(Array("CHANGED".utf8), as: #require(changed).name, in: old)
        try holdUp(files[0])
        let account = try server.newcomer(.dropbox).account
        phone.credentials.signIn(account)
        let former = try #require(await PersonCredentials(old).credentials())
        _ = try await phone.client.proposeAccountSwitch(provingOldAccount: former)
        phone.app.change { $0.askedFor = [] }

        #expect(try await phone.client.confirmAccountSwitch(movingContentsFrom: former))
        await phone.client.stopped()
        try await phone.sync()
        tablet.credentials.signIn(account)
        try await tablet.sync()

        #expect(try await phone.client.accountSwitchServerMove()?.state == .moving)
        #expect(phone.client.accountSwitch?.isServerMoving == true)
        for device in [phone, tablet] { #expect(device.app.askedFor.isEmpty) }
        try await eventually("the server has tried every file", within: Self.patience) {
            try letTimePass(for: phone)
            let state = "SELECT state FROM account_moves WHERE user_id = \(phone.client.syncServerUserID ?? "0")"
            return try server.askDatabase(state) == "done"
        }
        #expect(try await phone.client.accountSwitchServerMove()?.numberFailed == 1)
        try await switched(phone)
        let move = try #require(try await phone.client.accountSwitchServerMove())
        #expect(move.numberMoved == 2 && move.bytesMoved == 8, "\(move)")
        #expect(phone.app.askedFor == [files[1]])
        let index = try phone.user.with(account: account).index(of: phone.group.rawValue)
        #expect(index.files.allSatisfy { $0.awaitingReupload == nil && $0.fileVersion?.integer == 0 })
        try await tablet.sync()
        #expect(phone.app.taken.isEmpty && tablet.app.askedFor.isEmpty)
        let friend = try await phone.invited(.microsoft)
        #expect(try await friend.received().compactMap(\.text).sorted() == ["one", "three", "two"])
    }

    /// Keeps the server from reading a file in Google's storage for a while.
    private func holdUp(_ file: FileUUID) throws {
        let object = try server.askDatabase("SELECT object_id FROM files WHERE file_uuid = '\(file.rawValue)'")
        var fault = SandboxFault(pathPrefix: "/drive/v3/files/\(object)", method: "GET", status: 503, times: 3)
        fault.queryContains = "alt=media"
        // Longer than any test, unless the test advances the time.
        fault.retryAfter = 1_800
        try server.sandbox.inject(fault)
    }

    /// Makes postponed attempts of the server due now.
    private func letTimePass(for device: Device) throws {
        _ = try server.askDatabase(
            """
            UPDATE account_moves a LEFT JOIN moving_contents m ON m.switch_uuid = a.switch_uuid
               SET a.available_at = a.available_at - INTERVAL 1 HOUR, m.available_at = m.available_at - INTERVAL 1 HOUR
             WHERE a.user_id = \(device.client.syncServerUserID ?? "0")
            """)
    }

    @Test("Without access to the former account, the server moves nothing, and the files are uploaded")
    func serverCannotMove() async throws {
        let (phone, files) = try await phone("one")
        let old = phone.user.account
        let former = try #require(await PersonCredentials(old).credentials())
        let stranger = try #require(await PersonCredentials(server.newcomer(.google).account).credentials())
        phone.credentials.signIn(try server.newcomer(.dropbox).account)
        _ = try await phone.client.proposeAccountSwitch()
        #expect(
            await refusal { try await phone.client.confirmAccountSwitch(movingContentsFrom: stranger) }
                == .oldAccountProofRequired)
        try server.sandbox.revoke(old, .server)

        #expect(try await phone.client.confirmAccountSwitch(movingContentsFrom: former) == false)

        try await switched(phone)
        #expect(phone.app.askedFor.contains(files[0]))
        #expect(try await phone.client.accountSwitchServerMove() == nil)
    }

    @Test("A new switch while files still wait ends the first one, and all files go to the newest storage")
    func furtherSwitch() async throws {
        let (phone, files) = try await phone("one", "two")
        phone.credentials.signIn(try server.newcomer(.dropbox).account)
        let location = phone.app.state.withLock { $0.contents.removeValue(forKey: files[1]) }
        _ = try await phone.client.proposeAccountSwitch()
        try await phone.client.confirmAccountSwitch()
        try await eventually("the other files are uploaded", within: Self.patience) {
            phone.client.accountSwitch?.unavailable == [files[1]]
        }
        await phone.client.stopped()
        phone.app.change { $0.contents[files[1]] = location }
        let last = try server.newcomer(.microsoft).account
        phone.credentials.signIn(last)

        let proposal = try await phone.client.proposeAccountSwitch()
        #expect(proposal.numberOfFiles == 2 && proposal.fromAccountType == .dropbox)
        try await phone.client.confirmAccountSwitch()
        try await switched(phone)

        let index = try phone.user.with(account: last).index(of: phone.group.rawValue)
        #expect(index.files.count == 2)
        #expect(index.files.allSatisfy { $0.awaitingReupload == nil && $0.cloudStorageType?.text == "Microsoft" })
        #expect(index.files.allSatisfy { $0.fileVersion?.integer == 0 })
    }

    @Test("A device whose grant was revoked cannot begin a switch until it has signed in again")
    func revoked() async throws {
        let (phone, _) = try await phone("one")
        let stolen = try await phone.another()
        try await phone.client.revokeDeviceGrants(of: stolen.client.deviceUUID)
        let account = try server.newcomer(.dropbox).account
        stolen.credentials.signIn(account)
        #expect(await refusal { try await stolen.client.proposeAccountSwitch() } == .deviceGrantInvalid)

        stolen.credentials.signIn(phone.user.account)
        try await stolen.client.checkForExistingUser()
        stolen.credentials.signIn(account)
        let error = await #expect(throws: SyncError.self) { try await stolen.client.proposeAccountSwitch() }
        #expect(error?.code == .deviceGrantTooYoung && error?.usableFrom != nil)
    }

    @Test("A new device can begin a switch with a new authorization code of the former account")
    func newDevice() async throws {
        let (phone, _) = try await phone("one")
        let tablet = try await phone.another()
        tablet.credentials.signIn(try server.newcomer(.dropbox).account)
        #expect(await refusal { try await tablet.client.proposeAccountSwitch() } == .deviceGrantTooYoung)

        let code = try server.sandbox.newAuthorizationCode(of: phone.user.account)
            .header("SyncServer-authorization-code")
        let former = Credentials(
            accountType: .google, accessToken: Secret(phone.user.account.accessToken),
            authorizationCode: code.map { Secret($0) })
        _ = try await tablet.client.proposeAccountSwitch(provingOldAccount: former)
    }

    @Test(
        "A switch made by a stranger is undone on the older device, which sees newer grants and the deadline")
    func undone() async throws {
        let (phone, files) = try await phone("one", "two")
        let thief = try await phone.another()
        try await phone.client.checkForExistingUser()
        #expect(phone.client.newerDeviceGrants.map(\.grantDeviceUUID) == [thief.client.deviceUUID])
        let code = try server.sandbox.newAuthorizationCode(of: phone.user.account)
            .header("SyncServer-authorization-code")
        thief.credentials.signIn(try server.newcomer(.dropbox).account)
        _ = try await thief.client.proposeAccountSwitch(
            provingOldAccount: Credentials(
                accountType: .google, accessToken: Secret(phone.user.account.accessToken),
                authorizationCode: code.map { Secret($0) }))
        try await thief.client.confirmAccountSwitch()
        let error = await #expect(throws: SyncError.self) { try await phone.client.checkForExistingUser() }
        #expect(error?.code == .signedOutRemotely && error?.undoUntil != nil)
        #expect(await refusal { try await phone.client.undoAccountSwitch() } == .freshSignInRequired)

        phone.credentials.signIn(try server.sandbox.newAuthorizationCode(of: phone.user.account))
        try await phone.client.undoAccountSwitch()

        #expect(phone.client.accountSwitch == nil)
        try await phone.sync()
        let index = try phone.user.index(of: phone.group.rawValue)
        #expect(index.files.count == 2)
        #expect(index.files.allSatisfy { $0.awaitingReupload == nil && $0.cloudStorageType?.text == "Google" })
        try await phone.publish("one and more", as: files[0])
        #expect(await refusal { try await thief.client.checkForExistingUser() } != nil || !thief.client.uploadsPending)
    }

    @Test("A cancelled proposal changes nothing, and the former account remains in use")
    func cancelled() async throws {
        let (phone, _) = try await phone("one")
        phone.credentials.signIn(try server.newcomer(.dropbox).account)
        _ = try await phone.client.proposeAccountSwitch()
        try await phone.client.cancelAccountSwitch()
        #expect(phone.client.accountSwitch == nil)
        #expect(await refusal { try await phone.client.confirmAccountSwitch() } == .noAccountSwitch)

        phone.credentials.signIn(phone.user.account)
        try await phone.publish("two")
    }

    @Test("Accounts of others, and devices without proof, are rejected")
    func refused() async throws {
        let (phone, _) = try await phone("one")
        let stranger = try server.signUpOwningUser(.dropbox)
        phone.credentials.signIn(stranger.account)
        #expect(await refusal { try await phone.client.checkForExistingUser() } == .differentUser)
        #expect(await refusal { try await phone.client.proposeAccountSwitch() } == .accountInUse)
        #expect(await refusal { try await phone.sync() } == .differentUser)

        phone.credentials.signIn(phone.user.account)
        guard case .user = try await phone.client.checkForExistingUser() else { throw TestApp.Refusal() }
        try await phone.sync()
        let newcomer = try Device(server.newcomer(.dropbox))
        #expect(await refusal { try await newcomer.client.proposeAccountSwitch() } == .deviceGrantInvalid)
        phone.credentials.signIn(try server.newcomer(.facebook).account)
        #expect(await refusal { try await phone.client.proposeAccountSwitch() } == .owningAccountRequired)
    }

    @Test("On a server without identities, everything works except switching accounts")
    func olderServer() async throws {
        let phone = try await Device.signedUp(server, .older)
        try await phone.publish("one")
        #expect(phone.client.userAppID == nil)
        #expect(await refusal { try await phone.client.proposeAccountSwitch() } == .deviceGrantInvalid)
    }

    @Test("The grant is stored, readable only by its owner, and survives the process")
    func grant() async throws {
        let phone = try await Device.signedUp(server)
        let file = phone.storeFolder.appending(path: "device-grant")
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let secret = try Data(contentsOf: file)

        let again = try await phone.relaunched()
        try await again.sync()

        #expect(try Data(contentsOf: file) == secret, "a grant that has been sent is not replaced")
        try again.client.reset(type: .all)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }
}
