import JSONWebTokens
import Providers

extension SettingsReader {
    /// The push services; each is set up as a whole or not at all.
    mutating func push() -> ServerConfiguration.Push {
        ServerConfiguration.Push(sns: sns(), apns: apns(), fcm: fcm())
    }

    private mutating func sns() -> ServerConfiguration.SNS? {
        guard reader.has(prefix: "awssns") else { return nil }
        let sns = ServerConfiguration.SNS(
            accessKeyID: reader.required("awssns.accessKeyId"),
            secretKey: pushSecret("awssns.secretKey"),
            region: reader.required("awssns.region"),
            platformApplicationARN: reader.required("awssns.platformApplicationArn"))
        guard !sns.region.isEmpty, !sns.platformApplicationARN.isEmpty else { return sns }
        if !sns.region.utf8.allSatisfy({
            ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || (0x30...0x39).contains($0) || $0 == 0x2D
        }) {
            reader.problem("awssns.region must be a region's name, such as us-west-2", at: "awssns.region")
        }
        // arn:aws:sns:REGION:ACCOUNT:app/APNS/NAME
        let parts = sns.platformApplicationARN.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count != 6 || parts[0] != "arn" || parts[2] != "sns" || !parts[5].hasPrefix("app/") {
            reader.problem(
                "awssns.platformApplicationArn must be the ARN of a platform application, such as "
                    + "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp", at: "awssns.platformApplicationArn")
        } else if parts[3] != sns.region {
            reader.problem(
                "awssns.platformApplicationArn is of the region \(parts[3]), and awssns.region is another",
                at: "awssns.platformApplicationArn")
        }
        return sns
    }

    private mutating func apns() -> ServerConfiguration.APNs? {
        guard reader.has(prefix: "apns") else { return nil }
        let environment = reader.string("apns.environment") ?? "production"
        if !["production", "sandbox"].contains(environment) {
            reader.problem("apns.environment must be production or sandbox", at: "apns.environment")
        }
        let (teamID, keyID) = (reader.required("apns.teamId"), reader.required("apns.keyId"))
        let topic = reader.required("apns.topic")
        var key: SigningKey?
        if isNeeded("apns.privateKey") {
            key = es256Key("apns.privateKey")
            if key == nil { return nil }
        } else {
            _ = secret("apns.privateKey")
        }
        return ServerConfiguration.APNs(
            teamID: teamID, keyID: keyID, key: key, topic: topic, isSandbox: environment == "sandbox")
    }

    private mutating func fcm() -> ServerConfiguration.FCM? {
        guard reader.has(prefix: "fcm") else { return nil }
        guard isNeeded("fcm.serviceAccount") else {
            _ = secret("fcm.serviceAccount")
            return ServerConfiguration.FCM(account: nil)
        }
        guard let text = openedSecret("fcm.serviceAccount") else { return nil }
        do {
            return ServerConfiguration.FCM(account: try ServiceAccount(json: text.value))
        } catch {
            reader.problem("fcm.serviceAccountFile cannot be used: \(error)", at: "fcm.serviceAccountFile")
            return nil
        }
    }

    /// A required secret of a push service; `nil` if the role does not need it.
    private mutating func pushSecret(_ name: String) -> Secret? {
        let text = secret(name)
        return isNeeded(name) ? text ?? missing(name + "File") : nil
    }

    /// The key that signs the tokens for Apple's services; `nil`, and a problem, if there is no usable one.
    mutating func es256Key(_ name: String) -> SigningKey? {
        guard let text = openedSecret(name) else { return nil }
        do {
            return try SigningKey(es256PEM: text.value)
        } catch {
            reader.problem("\(name)File cannot be used: it must be a P-256 key in PEM, the .p8 file from Apple")
            return nil
        }
    }

    /// A required secret; `nil`, and a problem, if it is missing or cannot be read.
    private mutating func openedSecret(_ name: String) -> Secret? {
        let known = reader.problems.count
        let text = secret(name) ?? missing(name + "File")
        return reader.problems.count == known ? text : nil
    }
}
