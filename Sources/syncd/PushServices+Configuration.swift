import JSONWebTokens
import Posix
import Push
import ServerConfiguration
import SyncProtocol

extension PushServices {
    /// The push services that the configuration names.
    /// - Throws: ``PushKeyError`` if a key among its secrets cannot be used.
    init(_ configuration: ServerConfiguration.Push) throws(PushKeyError) {
        let now: @Sendable () -> Int64 = { WallClock.secondsSince1970() }
        self.init()
        if let settings = configuration.apns {
            let key: SigningKey
            do { key = try SigningKey(es256PEM: settings.privateKey.value) } catch {
                throw PushKeyError(setting: "apns.privateKey", reason: "it must be a P-256 key in PEM")
            }
            apns = APNs(
                teamID: settings.teamID, keyID: settings.keyID, key: key, topic: settings.topic,
                environment: settings.isSandbox ? .sandbox : .production, now: now)
        }
        if let settings = configuration.fcm {
            let account: ServiceAccount
            do { account = try ServiceAccount(json: settings.serviceAccount.value) } catch {
                throw PushKeyError(setting: "fcm.serviceAccount", reason: "\(error)")
            }
            fcm = FCM(account: account, now: now)
        }
        if let settings = configuration.sns {
            sns = SNS(
                accessKeyID: settings.accessKeyID, secretKey: settings.secretKey.value, region: settings.region,
                platformApplicationARN: settings.platformApplicationARN, now: now)
        }
    }
}

/// A key for a push service that cannot be used.
struct PushKeyError: Error, CustomStringConvertible {
    var setting: String
    var reason: String

    var description: String { "\(setting): \(reason)" }
}
