import Foundation
import SyncClient
import Synchronization
import TestSupport
import Testing

@Suite("Proposing a switch with the library")
struct SwitchProposalTests {
    @Test("If the operator requires proof, only the former account's credentials can begin a switch")
    func requiredProof() async throws {
        let strict = try TestServer.configuredDifferently()
        let phone = try await Device.signedUp(strict)
        let former = try #require(await phone.credentials.credentials())
        let stranger = try #require(await PersonCredentials(strict.newcomer(.google).account).credentials())
        let account = try strict.newcomer(.google).account
        phone.credentials.signIn(account)

        #expect(await refusal { try await phone.client.proposeAccountSwitch() } == .oldAccountProofRequired)
        #expect(
            await refusal { try await phone.client.proposeAccountSwitch(provingOldAccount: stranger) }
                == .oldAccountProofRequired)
        #expect(phone.client.accountSwitch == nil)
        _ = try await phone.client.proposeAccountSwitch(provingOldAccount: former)
        try await phone.client.confirmAccountSwitch()

        #expect(phone.client.accountSwitch == nil, "there are no files")
        guard case .user = try await phone.client.checkForExistingUser() else { throw TestApp.Refusal() }
    }

    @Test("An expired proposal cannot be confirmed; nothing has changed, and a new one can be made")
    func expired() async throws {
        let server = try TestServer.shared()
        let phone = try await Device.signedUp(server)
        let file = try await phone.publish("one")
        let location = try phone.file(Data("one".utf8))
        phone.app.change { $0.contents[file] = .file(location) }
        phone.credentials.signIn(try server.newcomer(.dropbox).account)
        _ = try await phone.client.proposeAccountSwitch()
        let user = try #require(phone.client.syncServerUserID)
        _ = try server.askDatabase(
            "UPDATE account_switches SET expires_at = UTC_TIMESTAMP() - INTERVAL 1 SECOND WHERE user_id = \(user)")

        #expect(await refusal { try await phone.client.confirmAccountSwitch() } == .noAccountSwitch)

        #expect(phone.client.accountSwitch == nil)
        #expect(try await phone.client.checkForExistingUser() == .noUser)
        _ = try await phone.client.proposeAccountSwitch()
        try await phone.client.confirmAccountSwitch()
        try await eventually("the switch is over", within: .seconds(180)) { phone.client.accountSwitch == nil }
        await phone.client.stopped()
        #expect(try phone.client.getAttributes(forFileUUID: file).awaitingReupload == false)
    }
}
