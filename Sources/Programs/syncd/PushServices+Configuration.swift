import Configuration
import Providers
import SyncProtocol

extension PushServices {
    /// The push services that the configuration names; those without a key are handled by other processes.
    /// - Parameter now: seconds since 1970.
    init(_ configuration: ServerConfiguration.Push, now: @escaping @Sendable () -> Int64) {
        self.init()
        if let settings = configuration.apns {
            if let key = settings.key {
                apns = APNs(
                    teamID: settings.teamID, keyID: settings.keyID, key: key, topic: settings.topic,
                    environment: settings.isSandbox ? .sandbox : .production, now: now)
            } else {
                elsewhere.insert(.apns)
            }
        }
        if let settings = configuration.fcm {
            if let account = settings.account {
                fcm = FCM(account: account, now: now)
            } else {
                elsewhere.insert(.fcm)
            }
        }
        if let settings = configuration.sns {
            if let secretKey = settings.secretKey {
                sns = SNS(
                    accessKeyID: settings.accessKeyID, secretKey: secretKey.value, region: settings.region,
                    platformApplicationARN: settings.platformApplicationARN, now: now)
            } else {
                elsewhere.insert(.sns)
            }
        }
    }
}
